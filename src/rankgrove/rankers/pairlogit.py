"""PairLogit: pairwise logistic loss over all pairs."""

from __future__ import annotations

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.pairlogit import PairwiseLogistic
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import Real
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "pairlogit",
    paper="Burges et al. 2005; CatBoost's PairLogit",
    optimises="logistic loss of all pairs",
)
class PairLogit(BoostedRanker):
    r"""Boosted pairwise logistic loss: CatBoost's PairLogit, RankNet's loss on trees.

    All pairs of a query whose labels differ count:

    .. math:: L_q = \sum_{y_i > y_j} (y_i - y_j)^a \log \left(1 + e^{s_j - s_i}\right).

    With :math:`\rho = 1 / (1 + e^{s_i - s_j})` and :math:`v = (y_i - y_j)^a`, a pair adds

    .. math::
        g_i \mathrel{-}= v \rho, \quad g_j \mathrel{+}= v \rho, \quad
        h_i, h_j \mathrel{+}= v \rho (1 - \rho),

    where a = ``difference_power``. The loss is for the whole order, not for the top of the list.
    Labels may be any real numbers. A query of n documents takes :math:`n^2` terms per iteration, in
    single precision and on all threads.

    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, "Learning to Rank using Gradient
    Descent", 2005.
    """

    difference_power: float = param(
        0.0, Real(0, 10), "exponent a of the label difference that weighs a pair; 0: all alike"
    )

    def _objective(self, data: TrainingData) -> Objective:
        return PairwiseLogistic(data, difference_power=self.difference_power)
