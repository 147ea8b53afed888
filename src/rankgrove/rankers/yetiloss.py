"""YetiLoss: neighbours in perturbed rankings, weighted by the change of a metric."""

from __future__ import annotations

from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.yetiloss import YetiLossPairs
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.parameters import Integer
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.lambdamart import LambdaMART, unused_by_metric


@register_ranker(
    "yetiloss",
    paper="Lyzhin et al. 2023",
    optimises="NDCG, MAP, ERR or MRR, through neighbours in perturbed rankings",
)
class YetiLoss(BoostedRanker):
    r"""YetiRank for NDCG, MAP, ERR or MRR: CatBoost's YetiRank with a ``mode``.

    Each iteration ranks the documents of a query several times by
    :math:`s_i + \log\frac{u_i}{1 - u_i}` with fresh uniform :math:`u_i`. Two neighbours i and j in
    such a ranking form a pair of weight :math:`w = |\Delta M_{ij}| / \text{n\_permutations}`, where
    :math:`\Delta M_{ij}` is the change of the metric when they swap places there. With i the better
    one and :math:`\rho = 1 / (1 + e^{s_i - s_j})`, it adds

    .. math::
        g_i \mathrel{-}= w \rho, \quad g_j \mathrel{+}= w \rho, \quad
        h_i, h_j \mathrel{+}= w \rho (1 - \rho).

    CatBoost's ``mode=NDCG``, ``MRR`` and ``ERR`` are this loss with ``gain="linear"`` (its labels
    are the probabilities of ERR; NDCG with ``dcg_type=Exp`` has ``gain="exp"``). Its ``mode=MAP``
    weighs neighbours by 1 / rank, not by the change of average precision. MRR@k counts nothing
    below rank k here.

    Lyzhin, Ustimenko, Gulin and Prokhorenkova, "Which Tricks Are Important for Learning to Rank?",
    2023.
    """

    metric: str = with_default(LambdaMART, "metric", "ndcg")
    n_permutations: int = param(
        10, Integer(1, 10_000), "perturbed rankings of each query in each iteration"
    )
    gain: Any = with_default(LambdaMART, "gain", "exp")
    relevant_from: float = with_default(LambdaMART, "relevant_from", 1.0)
    max_grade: float | None = with_default(LambdaMART, "max_grade", None)

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        return {**super()._unused_parameters(data), **unused_by_metric(self.metric)}

    def _objective(self, data: TrainingData) -> Objective:
        metric, _, k = self.metric.partition("@")
        return YetiLossPairs(
            data,
            metric=metric,
            k=int(k) if k else None,
            n_permutations=self.n_permutations,
            gain=self.gain,
            relevant_from=self.relevant_from,
            max_grade=self.max_grade,
        )
