"""QueryCrossEntropy: logistic loss of labels in [0, 1], in part with the best shift per query."""

from __future__ import annotations

from typing import ClassVar

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.querycrossentropy import ShiftedLogistic, probabilities
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import Real
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "querycrossentropy",
    paper="CatBoost's QueryCrossEntropy",
    optimises="logistic loss, shifted per query",
)
class QueryCrossEntropy(BoostedRanker):
    r"""Boosted logistic loss of labels in [0, 1]: CatBoost's QueryCrossEntropy.

    With :math:`t = y / \text{max\_grade}` and
    :math:`\ell(s) = -\sum_d w_d (t_d \log \sigma(s_d) + (1 - t_d) \log(1 - \sigma(s_d)))`, the loss
    of a query is :math:`(1 - \alpha) \, \ell(s) + \alpha \min_b \ell(s + b)`: the first part fits
    probabilities, the second only the order inside the query. With
    :math:`p_d = \sigma(s_d)`, :math:`p'_d = \sigma(s_d + b_q)` at the best :math:`b_q`, and
    :math:`v_d = w_d p'_d (1 - p'_d)`,

    .. math::
        g_d = w_d \left( (1 - \alpha) (p_d - t_d) + \alpha (p'_d - t_d) \right), \quad
        h_d = (1 - \alpha) w_d p_d (1 - p_d) + \alpha v_d \left(1 - v_d / \textstyle\sum v\right).

    In a query whose labels are all 0 or all ``max_grade``, the second part is 0. Scores are
    log-odds, and start at those of the mean label.
    """

    scores_are_log_odds: ClassVar[bool] = True

    alpha: float = param(0.95, Real(0, 1), "part of the loss that shifts each query")
    max_grade: float = param(
        1.0, Real(0, above=True), "label that means probability 1; labels lie from 0 to it"
    )

    def _check_labels(self, data: RankingInput) -> None:
        probabilities(data.y, self.max_grade)

    def _objective(self, data: TrainingData) -> Objective:
        return ShiftedLogistic(data, alpha=self.alpha, max_grade=self.max_grade)
