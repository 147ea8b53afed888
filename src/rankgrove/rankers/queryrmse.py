"""QueryRMSE: squared error centred per query."""

from __future__ import annotations

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.queryrmse import CentredSquaredError
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "queryrmse",
    paper="CatBoost's QueryRMSE",
    optimises="squared error, centred per query",
)
class QueryRMSE(BoostedRanker):
    r"""Boosted least squares on differences inside a query: CatBoost's QueryRMSE.

    With the residuals :math:`r_d = s_d - y_d` and their weighted mean
    :math:`m_q = \sum_{d \in q} w_d r_d / \sum_{d \in q} w_d`, the loss is

    .. math::
        \frac12 \sum_q \sum_{d \in q} w_d (r_d - m_q)^2, \qquad
        g_d = w_d (r_d - m_q), \qquad h_d = w_d.

    The mean level of a query has no effect: a constant added to all labels of a query changes
    nothing. Labels may be any real numbers. The RMSE over all documents of
    :math:`r_d - m_q` is the figure that CatBoost reports.
    """

    def _objective(self, data: TrainingData) -> Objective:
        return CentredSquaredError(data)
