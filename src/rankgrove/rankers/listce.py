"""ListCE: calibrated ranking by the regression-compatible listwise loss."""

from __future__ import annotations

from typing import ClassVar

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.listce import RegressionCompatible
from rankgrove.boosting.objectives.querycrossentropy import probabilities
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import Real
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "listce",
    paper="Bai, Jagerman, Qin, Yan, Kar, Lin, Wang, Bendersky and Najork 2023",
    optimises="logistic loss and the order, both least at the true probabilities",
)
class ListCE(BoostedRanker):
    r"""Boosted regression-compatible ranking (Bai et al., *Regression Compatible Listwise
    Objectives for Calibrated Ranking with Binary Relevance*, 2023).

    With :math:`t = y / \text{max\_grade}`, :math:`p_i = \sigma(s_i)`,
    :math:`q_i = p_i / \sum_j p_j` and :math:`\bar t_i = t_i / \sum_j t_j`, the loss of a query is

    .. math::
        -(1 - \alpha) \sum_i \left( t_i \log p_i + (1 - t_i) \log(1 - p_i) \right)
        - \alpha \sum_i \bar t_i \log q_i.

    The first part wants probabilities, the second the order; both are least at the true
    probabilities, so that neither spoils the other, as a softmax would. Gradients are

    .. math:: g_i = (1 - \alpha) (p_i - t_i) + \alpha (q_i - \bar t_i) (1 - p_i).

    Scores are log-odds, ``predict_proba`` returns the probabilities.
    """

    scores_are_log_odds: ClassVar[bool] = True

    alpha: float = param(0.5, Real(0, 1), "part of the listwise loss")
    max_grade: float = param(
        1.0, Real(0, above=True), "label that means probability 1; labels lie from 0 to it"
    )

    def _check_labels(self, data: RankingInput) -> None:
        probabilities(data.y, self.max_grade, type(self).__name__)

    def _objective(self, data: TrainingData) -> Objective:
        return RegressionCompatible(data, alpha=self.alpha, max_grade=self.max_grade)
