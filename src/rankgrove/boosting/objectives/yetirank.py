"""YetiRank: neighbours in randomly perturbed rankings."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.metrics.arithmetic import Gain, label_gains


class YetiRankPairs(Objective):
    r"""Pair losses with stochastic weights.

    (Gulin, Kuralenok and Pavlov, "Winning The Transfer Learning Track of Yahoo!'s Learning To Rank
    Challenge with YetiRank", 2011.) Each iteration ranks the documents of a query several times by
    :math:`s_i + \log\frac{u_i}{1 - u_i}` with fresh uniform :math:`u_i`. Two neighbours at ranks r
    and r + 1 with different gains form a pair of weight

    .. math:: w_{ij} = \delta(r) \, |G_i - G_j| \, / \, \text{(number of permutations)},

    :math:`\delta(r) = \mathit{decay}^{r - 1}`, or 1 / r as in the paper if decay is None. With
    :math:`\rho` the probability of the wrong order, :math:`1 / (1 + e^{s_i - s_j})` for
    :math:`G_i > G_j`, the pair adds :math:`-w\rho` to :math:`g_i`, :math:`w\rho` to :math:`g_j`,
    and :math:`w \rho (1 - \rho)` to both Hessians.

    Parameters
    ----------
    n_permutations : perturbed rankings per query and iteration
    decay : how fast the weight of a pair falls with its rank, in (0, 1]; None for 1 / rank
    gain : ``"linear"``, ``"exp"`` or a table of gains
    """

    def __init__(
        self,
        data: TrainingData,
        n_permutations: int = 10,
        decay: float | None = 0.85,
        gain: Gain = "linear",
    ) -> None:
        if decay is not None and not 0 < decay <= 1:
            raise ValueError(f"decay must be None or lie in (0, 1], not {decay!r}")
        self.data = data
        self.n_permutations = n_permutations
        self.gains = label_gains(data.y, gain)
        rank = np.arange(np.diff(data.offsets).max(initial=0), dtype=np.float64)
        self.rank_weight: Floats = 1.0 / (rank + 1.0) if decay is None else decay**rank

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians; the draws depend on seed, iteration and query alone."""
        assert hessians is not None
        _native.yetirank_gradients(
            self.data.offsets,
            scores[0],
            self.gains,
            self.rank_weight,
            self.data.weight,
            self.n_permutations,
            self.data.seed,
            iteration,
            self.data.shard.first_query,
            self.data.n_threads,
            gradients[0],
            hessians[0],
        )
