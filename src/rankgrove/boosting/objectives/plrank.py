"""PLRank: the Plackett-Luce likelihood of ground-truth permutations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData


class PlackettLuceLikelihood(Objective):
    r"""Minus the log-likelihood of shuffled ground-truth permutations.

    (Xia, Zhai and Wang, "Plackett-Luce Model for Learning-to-Rank Task".) A ground-truth
    permutation sorts the documents of a query by label, ties at random. The context :math:`C_j` of
    place j holds all documents but those placed before j, and
    :math:`p(d|C) = e^{s_d} / \sum_{c \in C} e^{s_c}`. Equation 7 gives the pseudo-response of the
    first K places,

    .. math:: -g_d = \mathbf{1}(d \text{ among the K}) - \sum_{C \ni d} p(d|C),

    averaged over the permutations of the query. A tree is fitted to it by least squares, so
    Hessians are constant. The leaves' values then come from the Newton step of equation 9, in which
    the documents of a leaf U move together:

    .. math::
        v_U = \frac{-\sum_{d \in U} g_d}{\lambda + \sum_C p'_C (1 - p'_C)}, \qquad
        p'_C = \sum_{d \in U \cap C} p(d|C).

    Permutations of a query share many contexts; equal ones are stored once, with a count. Queries
    whose labels are all equal have no order to learn and are left out by default. Scores more than
    600 below the best of their query count as 600 below.

    Parameters
    ----------
    k : K, the number of leading places that count
    n_permutations : ground-truth permutations per query (the paper's obj, which recommends 3)
    l2 : lambda
    max_step : limit of a leaf's value, a guard against nearly flat likelihoods
    merge : whether equal contexts are stored once; the gradients are the same either way
    keep_equal : whether queries whose labels are all equal get permutations, too
    """

    sets_leaf_values = True

    def __init__(
        self,
        data: TrainingData,
        k: int = 10,
        n_permutations: int = 3,
        l2: float = 0.0,
        max_step: float = 100.0,
        merge: bool = True,
        keep_equal: bool = False,
    ) -> None:
        self.data = data
        self.l2 = l2
        self.max_step = max_step
        self.constant_hessian = data.weight is None
        self.contexts = _native.PlackettLuce(
            data.offsets,
            data.y,
            k,
            n_permutations,
            merge,
            keep_equal,
            data.seed,
            data.shard.first_query,
        )

    @property
    def compression(self) -> float:
        """Number of stored contexts as a share of the contexts of all permutations."""
        return self.contexts.n_contexts / max(1, self.contexts.n_unmerged_contexts)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients (equation 7, negated)."""
        self.contexts.gradients(scores[0], self.data.weight, self.data.n_threads, gradients[0])
        if hessians is not None:
            hessians[0] = self.data.weight

    def leaf_values(
        self, scores: Floats, leaf_of_row: npt.NDArray[np.int32], n_nodes: int, output: int
    ) -> Floats:
        """Return the Newton step of every leaf (equation 9)."""
        return self.contexts.leaf_values(
            scores[0],
            self.data.weight,
            np.ascontiguousarray(leaf_of_row, np.int32),
            n_nodes,
            self.l2,
            self.max_step,
            self.data.shard.reducer,
            self.data.shard.n_rows,
            self.data.n_threads,
        )
