"""LambdaMART: pairs of documents, weighted by what their swap would change in the metric."""

from __future__ import annotations

import re
from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.lambdamart import LambdaGradients
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import AnyOf, Flag, Integer, Nothing, Real, Satisfies
from rankgrove.rankers.base.registry import register_ranker

_METRIC = re.compile(r"map|(ndcg|err|mrr)(@[1-9][0-9]*)?")


@register_ranker(
    "lambdamart",
    paper="Burges 2010",
    optimises="NDCG, MAP, ERR or MRR, through pairs",
)
class LambdaMART(BoostedRanker):
    r"""LambdaMART for NDCG, MAP, ERR or MRR.

    For documents i and j of a query whose labels differ, :math:`y_i > y_j`, let
    :math:`|\Delta_{ij}|` be the change of the metric when the two swap places in the current
    ranking, and :math:`\rho_{ij} = 1 / (1 + e^{\sigma (s_i - s_j)})`. The pair adds

    .. math::
        g_i \mathrel{-}= \sigma |\Delta_{ij}| \rho_{ij}, \quad
        g_j \mathrel{+}= \sigma |\Delta_{ij}| \rho_{ij}, \quad
        h_i, h_j \mathrel{+}= \sigma^2 |\Delta_{ij}| \rho_{ij} (1 - \rho_{ij})

    to the gradients and Hessians of its documents. The ranking sorts by falling score, ties in the
    order of the data. Only pairs with at least one document among the first ``truncation`` ranks
    count, and NDCG without a cut-off divides by the ideal DCG of that many ranks. With ``norm``,
    each :math:`|\Delta_{ij}|` is divided by :math:`0.01 + |s_i - s_j|` (except in a query whose
    scores are all equal), and then the gradients and Hessians of a query are multiplied by
    :math:`\log_2(1 + S) / S`, where S is the sum of its documents' lambdas. With ``noise`` c, each
    iteration replaces the scores by :math:`s_i + c \log\frac{u_i}{1 - u_i}` with fresh uniform
    :math:`u_i` before it ranks them and computes the lambdas (stochastic LambdaMART; Lyzhin,
    Ustimenko, Gulin and Prokhorenkova, "Which Tricks Are Important for Learning to Rank?", 2023).

    Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", 2010.
    """

    metric: str = param(
        "ndcg",
        Satisfies(
            lambda text: isinstance(text, str) and _METRIC.fullmatch(text) is not None,
            "'ndcg', 'err', 'mrr' (each with a cut-off such as @10 if wanted) or 'map'",
            str,
        ),
        "the metric whose changes weigh the pairs",
    )
    truncation: int | None = param(
        30,
        AnyOf(Integer(1), Nothing()),
        "a pair counts if one of its documents is above this rank; None: all pairs, "
        "which takes time quadratic in the documents of a query",
    )
    sigma: float = param(1.0, Real(1e-6, 1e6), "steepness of the pair probability")
    norm: bool = param(True, Flag(), "normalise the lambdas by score difference and by query")
    gain: Any = param("exp", GAIN, GAIN_MEANING + "; for NDCG and (no table) ERR")
    relevant_from: float = param(1.0, Real(), "lowest label that is relevant, for MAP and MRR")
    max_grade: float | None = param(
        None,
        AnyOf(Real(0, 53, above=True), Nothing()),
        "highest label of the scale, for ERR; None: the highest in the training data",
    )
    noise: float = param(
        0.0, Real(0, 1e6), "scale of logistic noise on the scores in each iteration; 0: none"
    )

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        return {**super()._unused_parameters(data), **unused_by_metric(self.metric)}

    def _objective(self, data: TrainingData) -> Objective:
        metric, _, k = self.metric.partition("@")
        return LambdaGradients(
            data,
            metric=metric,
            k=int(k) if k else None,
            truncation=self.truncation,
            sigma=self.sigma,
            query_norm=self.norm,
            difference_norm=self.norm,
            gain=self.gain,
            relevant_from=self.relevant_from,
            max_grade=self.max_grade,
            noise=self.noise,
        )


def unused_by_metric(metric: str) -> dict[str, str]:
    """Return the parameters that have no effect with a metric to be optimised, and when."""
    uses = {"gain": ("ndcg", "err"), "relevant_from": ("map", "mrr"), "max_grade": ("err",)}
    name = metric.partition("@")[0]
    return {key: f"with metric={metric!r}" for key, of in uses.items() if name not in of}
