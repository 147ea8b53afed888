"""ListMLE's objective: the likelihood of the best permutations, and the prior."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.linear.line import query_weights
from rankgrove.models.linear_features import LinearFeatures

Floats = npt.NDArray[np.float64]


class PermutationLikelihood:
    r"""Minus the log-likelihood of ground-truth permutations, plus :math:`|w|^2 / 2\sigma^2`.

    Parameters
    ----------
    data : labels, queries and weights
    features : of the same documents
    k : leading places that count; None: all
    n_permutations : permutations per query, ties shuffled; the loss is their mean
    sigma : standard deviation of the prior
    keep_equal : whether queries whose labels are all equal count
    seed : of the shuffles
    """

    def __init__(
        self,
        data: RankingInput,
        features: LinearFeatures,
        *,
        k: int | None,
        n_permutations: int,
        sigma: float,
        keep_equal: bool = False,
        seed: int,
    ) -> None:
        self.features = features
        self.sigma = sigma
        self.query_weight = query_weights(data)
        self.sizes = data.groups.sizes
        depth = max(1, int(self.sizes.max(initial=1))) if k is None else k
        self.permutations = _native.PlackettLuce(
            data.groups.offsets, data.y, depth, n_permutations, True, keep_equal, seed
        )

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient with respect to the weights."""
        scores = self.features.scores(weights)
        gradients = np.empty_like(scores)
        losses = self.permutations.losses(scores, self.features.n_threads, gradients)
        if self.query_weight is not None:
            losses = losses * self.query_weight
            gradients *= np.repeat(self.query_weight, self.sizes)
        prior = weights / self.sigma**2
        return (
            float(losses.sum()) + 0.5 * float(weights @ prior),
            self.features.sums(gradients) + prior,
        )
