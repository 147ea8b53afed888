"""YetiLoss: neighbours in perturbed rankings, weighted by the change of a metric."""

from __future__ import annotations

from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.yetiloss import YetiLossPairs
from rankgrove.boosting.objectives.yetimetric import YetiMetricPairs
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.metrics.listwise_metric import (
    LISTWISE_METRIC_WORDS,
    as_listwise_metric,
    is_listwise_metric,
    read_listwise_metric,
)
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.parameters import Integer, Satisfies
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.lambdamart import LAMBDA_METRIC, LambdaMART, unused_by_metric


@register_ranker(
    "yetiloss",
    paper="Lyzhin et al. 2023",
    optimises="any metric, through neighbours in perturbed rankings",
)
class YetiLoss(BoostedRanker):
    r"""YetiRank for any metric: CatBoost's YetiRank with a ``mode``.

    Each iteration ranks the documents of a query several times by
    :math:`s_i + \log\frac{u_i}{1 - u_i}` with fresh uniform :math:`u_i`. Two neighbours i and j in
    such a ranking form a pair of weight :math:`w = |\Delta M_{ij}| / \text{n\_permutations}`, where
    :math:`\Delta M_{ij}` is the change of the metric when they swap places there. With i the better
    one and :math:`\rho = 1 / (1 + e^{s_i - s_j})`, it adds

    .. math::
        g_i \mathrel{-}= w \rho, \quad g_j \mathrel{+}= w \rho, \quad
        h_i, h_j \mathrel{+}= w \rho (1 - \rho).

    NDCG, MAP, ERR and MRR, with a cut-off or without, have kernels of their own, and read ``gain``,
    ``relevant_from`` and ``max_grade``. Any other text is a metric of the registry with its own
    parameters: ``"p@5"``, ``"rbp(persistence=0.9)"``, ``"recall@20(relevant_from=2)"``,
    ``"ndcg(discount=alpha:0.1)"``, ``"spearman"``. Those that are sums over the ranks, ``"ic"``,
    ``"tau"`` and ``"pair-accuracy"`` are as quick; for others (``meanndcg``, ``map(...)`` with
    parameters, functions of your own) each swap is evaluated, which takes time in proportion to the
    squared number of documents of a query. Metrics of the scores themselves (``rmse``,
    ``class-error``, ``ece``) are refused.

    CatBoost's ``mode=NDCG``, ``MRR`` and ``ERR`` are this loss with ``gain="linear"`` (its labels
    are the probabilities of ERR; NDCG with ``dcg_type=Exp`` has ``gain="exp"``). Its ``mode=MAP``
    weighs neighbours by 1 / rank, not by the change of average precision. MRR@k counts nothing
    below rank k here.

    Lyzhin, Ustimenko, Gulin and Prokhorenkova, "Which Tricks Are Important for Learning to Rank?",
    2023.
    """

    metric: Any = param(
        "ndcg",
        Satisfies(is_listwise_metric, LISTWISE_METRIC_WORDS, read_listwise_metric),
        "the metric whose changes weigh the pairs, such as 'ndcg', 'map', 'err@10', 'mrr', 'p@5', "
        "'rbp', 'spearman' or 'pair-accuracy'",
    )
    n_permutations: int = param(
        10, Integer(1, 10_000), "perturbed rankings of each query in each iteration"
    )
    gain: Any = with_default(LambdaMART, "gain", "exp")
    relevant_from: float = with_default(LambdaMART, "relevant_from", 1.0)
    max_grade: float | None = with_default(LambdaMART, "max_grade", None)

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = super()._unused_parameters(data)
        if self._has_kernel:
            return {**unused, **unused_by_metric(self.metric)}
        why = f"with metric={str(self.metric)!r}, which has parameters of its own"
        return {**unused, **dict.fromkeys(("gain", "relevant_from", "max_grade"), why)}

    @property
    def _has_kernel(self) -> bool:
        return isinstance(self.metric, str) and LAMBDA_METRIC.fullmatch(self.metric) is not None

    def _objective(self, data: TrainingData) -> Objective:
        if not self._has_kernel:
            return YetiMetricPairs(data, as_listwise_metric(self.metric), self.n_permutations)
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
