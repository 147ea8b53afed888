"""RankBoost: the exponential loss of pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData

# Bounds the weight of a perfect weak ranker, which would be infinite.
_LARGEST_R = 1.0 - 1e-9


class PairExponential(Objective):
    r"""The distribution over pairs, :math:`D(i, j) \propto e^{s_i - s_j}` for :math:`y_i < y_j`.

    Gradients are minus the potentials :math:`\pi(d) = \sum_i D(i, d) - \sum_j D(d, j)`, found in
    O(n). A weak ranker h(x) in {0, 1} has :math:`r = \sum_d \pi(d) h(x_d)`, which is what a stump
    is chosen by (``rank_gain``), and gets the weight
    :math:`\alpha = \frac{1}{2} \ln \frac{1 + r}{1 - r}`.

    A pair of documents of weights a and b starts with a weight in proportion to
    :math:`\sqrt{ab}`.
    """

    constant_hessian = True
    sets_leaf_values = True

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        factors = None if data.weight is None else np.sqrt(data.weight)
        self.pairs = _native.PairPotentials(data.offsets, data.y, factors)
        self.potentials = np.zeros(data.n_documents)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients with the negative potentials."""
        totals = self.pairs.compute(scores[0], self.data.n_threads, self.potentials)
        total = self.data.shard.total(totals)
        if total > 0:
            self.potentials /= total
        np.negative(self.potentials, out=gradients[0], casting="same_kind")

    def leaf_values(
        self, scores: Floats, leaf_of_row: npt.NDArray[np.int32], n_nodes: int, output: int
    ) -> Floats:
        """Return the weight of the stump for the documents above its threshold, 0 for others."""
        values = np.zeros(n_nodes)
        if n_nodes == 3:
            r = self.data.shard.total(np.where(leaf_of_row == 2, self.potentials, 0.0))
            r = float(np.clip(r, -_LARGEST_R, _LARGEST_R))
            values[2] = 0.5 * np.log((1.0 + r) / (1.0 - r))
        return values


def rank_gain(
    gradient_left: Floats, hessian_left: Floats, gradient_right: Floats, hessian_right: Floats
) -> Floats:
    """Return the absolute value of r for each threshold."""
    return np.abs(gradient_right)
