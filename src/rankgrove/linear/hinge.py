"""RankSVM's objective: the hinge loss of all pairs, and the squared norm of the weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.models.linear_features import LinearFeatures

Floats = npt.NDArray[np.float64]
LARGEST_C = 1e12  # times the largest weight


class PairHingeLoss:
    r""":math:`\frac{C}{N} \sum_q \sum_{y_i > y_j} \max(0, 1 - w^T(x_i - x_j))^p`, p = 1 or 2.

    N is the number of queries that count. The sums over pairs take O(n log n) (see
    ``native/linear/pair_hinge.hpp``). Documents of weights a and b make a pair of weight
    :math:`\sqrt{ab}`.

    Parameters
    ----------
    data : labels, queries and weights
    features : of the same documents
    C : trade-off with the margin, as in svm_rank
    squared : whether p is 2
    by_query : whether the pairs of a query count as much as one (svm_rank's -l 2)
    """

    def __init__(
        self,
        data: RankingInput,
        features: LinearFeatures,
        *,
        C: float,
        squared: bool,
        by_query: bool,
    ) -> None:
        self.features = features
        counting = data.groups.sizes > 0
        factors = None
        if data.weight is not None:
            factors = np.sqrt(data.weight)
            heaviest = np.maximum.reduceat(data.weight, data.filled_offsets[:-1])
            counting[counting] = heaviest > 0
            if C * heaviest.max() > LARGEST_C:
                raise ValueError(
                    f"C={C:g} times a sample_weight of {heaviest.max():g} is above {LARGEST_C:g}, "
                    "and sums lose their digits: divide all weights by the same number"
                )
        self.factor = C / max(1, int(counting.sum()))
        self.pairs = _native.PairHinge(data.groups.offsets, data.y, factors, squared, by_query)

    def at_scores(self, scores: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient with respect to the scores."""
        gradients = np.empty_like(scores)
        losses = self.pairs.losses(scores, self.features.n_threads, gradients)
        return self.factor * float(losses.sum()), self.factor * gradients

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient with respect to the weights."""
        loss, gradients = self.at_scores(self.features.scores(weights))
        return loss, self.features.sums(gradients)

    def with_margin(self, weights: Floats) -> tuple[float, Floats]:
        """Return the objective: the loss plus half the squared norm of the weights."""
        loss, gradient = self(weights)
        return loss + 0.5 * float(weights @ weights), gradient + weights
