"""Pairwise logistic loss of pairs that the caller lists."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData

Integers = npt.NDArray[np.int64]


class GivenPairs(Objective):
    r"""Logistic loss of listed pairs.

    .. math:: L = \sum_{(i, j)} w_{ij} \log \left(1 + e^{s_j - s_i}\right)

    With :math:`\rho = 1 / (1 + e^{s_i - s_j})`, a pair adds :math:`-w\rho` to :math:`g_i`,
    :math:`w\rho` to :math:`g_j`, and :math:`w \rho (1 - \rho)` to both Hessians. Time and memory
    grow with the number of pairs.

    Parameters
    ----------
    winner, loser : documents i and j of each pair, in grouped order
    pair_weight : :math:`w_{ij}`, at least 0
    """

    def __init__(
        self, data: TrainingData, winner: Integers, loser: Integers, pair_weight: Floats
    ) -> None:
        self.data = data
        self.winner, self.loser, self.pair_weight = winner, loser, pair_weight

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        assert hessians is not None
        gap = scores[0][self.winner] - scores[0][self.loser]
        tail = np.exp(-np.abs(gap))
        rho = np.where(gap > 0, tail, 1.0) / (1.0 + tail)
        pull = self.pair_weight * rho
        bend = pull * (1.0 - rho)
        gradients[0] = self._sums(self.loser, pull) - self._sums(self.winner, pull)
        hessians[0] = self._sums(self.loser, bend) + self._sums(self.winner, bend)
        if self.data.weight is not None:
            gradients[0] *= self.data.weight
            hessians[0] *= self.data.weight

    def _sums(self, documents: Integers, values: Floats) -> Floats:
        sums: Floats = np.bincount(documents, values, self.data.n_documents).astype(np.float64)
        return sums
