"""YetiRank: neighbours in randomly perturbed rankings."""

from __future__ import annotations

from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.yetirank import YetiRankPairs
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import AnyOf, Integer, Nothing, Real
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "yetirank",
    paper="Gulin, Kuralenok and Pavlov 2011",
    optimises="neighbours in perturbed rankings",
)
class YetiRank(BoostedRanker):
    r"""Boosted pair losses with stochastic weights, on oblivious trees by default, as in CatBoost.

    Each iteration ranks the documents of a query several times by
    :math:`s_i + \log\frac{u_i}{1 - u_i}` with fresh uniform :math:`u_i`. Two neighbours at ranks r
    and r + 1 with gains :math:`G_i > G_j` form a pair of weight
    :math:`w = \delta(r) (G_i - G_j) / \text{n\_permutations}`, where
    :math:`\delta(r) = \mathit{decay}^{r - 1}`, or 1 / r if ``decay`` is None. With
    :math:`\rho = 1 / (1 + e^{s_i - s_j})`, it adds

    .. math::
        g_i \mathrel{-}= w \rho, \quad g_j \mathrel{+}= w \rho, \quad
        h_i, h_j \mathrel{+}= w \rho (1 - \rho).

    Gulin, Kuralenok and Pavlov, "Winning The Transfer Learning Track of Yahoo!'s Learning To Rank
    Challenge with YetiRank", 2011.
    """

    n_permutations: int = param(
        10, Integer(1, 10_000), "perturbed rankings of each query in each iteration"
    )
    decay: float | None = param(
        0.85,
        AnyOf(Real(0, 1, above=True), Nothing()),
        "how fast the weight of a pair falls with its rank; None: 1 / rank",
    )
    gain: Any = param("linear", GAIN, GAIN_MEANING)

    def _objective(self, data: TrainingData) -> Objective:
        return YetiRankPairs(
            data, n_permutations=self.n_permutations, decay=self.decay, gain=self.gain
        )
