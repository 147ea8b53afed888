"""QuerySoftMax: cross entropy between labels and the softmax of a query's scores."""

from __future__ import annotations

from typing import Any, ClassVar

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.querysoftmax import SoftmaxCrossEntropy
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.click_boosted import ClickBoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import Real
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "querysoftmax",
    paper="Cao et al. 2007; CatBoost's QuerySoftMax",
    optimises="cross entropy of labels and softmax",
)
class QuerySoftMax(ClickBoostedRanker):
    r"""Boosted softmax cross entropy: CatBoost's QuerySoftMax.

    With p the softmax of :math:`\beta s` over the documents of a query, t the gains of their labels
    and :math:`T = \sum_i t_i`, the loss of a query is :math:`-\sum_i t_i \log p_i`, and

    .. math:: g_i = \beta (T p_i - t_i), \qquad h_i = \beta T (\beta p_i (1 - p_i) + \lambda)

    with :math:`\lambda` = ``damping``. A query counts in proportion to T; ``klmart`` divides the
    target by T, so that queries count alike. With one relevant document per query, this is the
    multinomial logit model of choice. Labels must not be negative. With clicks as labels,
    ``position_bias`` divides t by the propensity (``"ips"``) or adds a bias of its position to the
    score (``"additive"``).

    Cao, Qin, Liu, Tsai and Li, "Learning to Rank: From Pairwise Approach to Listwise Approach",
    2007 (top-one probabilities).
    """

    position_biases: ClassVar[tuple[str, ...]] = ("ips", "additive")

    beta: float = param(1.0, Real(1e-6, 1e6), "factor of the scores inside the softmax")
    damping: float = param(
        0.01, Real(0, 1e6), "added to p (1 - p) in the Hessian; CatBoost calls it lambda"
    )
    gain: Any = param("linear", GAIN, GAIN_MEANING)

    def _check_labels(self, data: RankingInput) -> None:
        super()._check_labels(data)
        if self.position_bias == "ips" and self.gain != "linear":
            raise ValueError(
                "position_bias='ips' of QuerySoftMax divides the gains of clicks: use gain='linear'"
            )

    def _objective(self, data: TrainingData) -> Objective:
        return SoftmaxCrossEntropy(data, beta=self.beta, damping=self.damping, gain=self.gain)
