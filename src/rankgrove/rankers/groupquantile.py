"""GroupQuantile: quantile loss centred per query."""

from __future__ import annotations

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.groupquantile import CentredQuantileLoss
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import Real
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "groupquantile",
    paper="CatBoost's GroupQuantile",
    optimises="quantile loss, centred per query",
)
class GroupQuantile(BoostedRanker):
    r"""Boosting with the quantile loss of residuals that are centred per query, as in CatBoost.

    The centred residual of document d is :math:`e_d = (y_d - s_d) - m_q`, where :math:`m_q` is the
    weighted mean of :math:`y_d - s_d` over the query. The loss is
    :math:`\sum_q \sum_{d \in q} w_d \max(\alpha e_d, (\alpha - 1) e_d)`. As in CatBoost's
    GroupQuantile, :math:`m_q` is held fixed in the gradient, and leaf values are gradient steps:

    .. math::
        g_d = 2 b w_d \cdot \begin{cases}
        0 & |e_d| < \delta \\ -\alpha & e_d > 0 \\ 1 - \alpha & e_d < 0
        \end{cases}, \qquad h_d = w_d.

    CatBoost has no factor 2b. b is the mean of :math:`|e_d|` at scores of 0, over the documents
    that have a weight: the steps grow with the labels, and the unit of the labels does not matter.

    A constant added to all labels of a query changes nothing. The loss grows with the size of a
    residual, not with its square as in ``queryrmse``, so a few extreme labels have less influence.
    Labels may be any real numbers.
    """

    alpha: float = param(
        0.5,
        Real(0, 1),
        "the quantile: weight of positive residuals; that of negative ones is 1 - alpha",
    )
    delta: float = param(1e-6, Real(0, 1e6), "residuals smaller than this have no gradient")

    def _objective(self, data: TrainingData) -> Objective:
        return CentredQuantileLoss(data, alpha=self.alpha, delta=self.delta)
