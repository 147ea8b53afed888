"""StochasticRank: a metric smoothed by Gaussian noise on the scores."""

from __future__ import annotations

import re
from typing import Any

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.stochasticrank import SmoothedMetric
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.common_parameters import GAIN, GAIN_MEANING
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.parameters import Integer, Real, Satisfies
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.lambdamart import LambdaMART, unused_by_metric

_METRIC = re.compile(r"map|(ndcg|dcg|err|mrr)(@[1-9][0-9]*)?")


def _is_metric(value: Any) -> bool:
    return isinstance(value, str) and _METRIC.fullmatch(value) is not None


@register_ranker(
    "stochasticrank",
    paper="Ustimenko and Prokhorenkova 2020",
    optimises="NDCG, DCG, MAP, ERR or MRR, smoothed by noise on the scores",
)
class StochasticRank(BoostedRanker):
    r"""Boosting of a metric, smoothed by Gaussian noise on the scores: CatBoost's StochasticRank.

    The loss of a query is :math:`-\mathrm{E}\, M(s - \sigma \mu y + \sigma \varepsilon)`, where M
    is the metric, s are the scores, y the labels, and :math:`\varepsilon` is standard normal noise.
    A positive :math:`\mu` lowers the score of each document in proportion to its label, so that
    ties count as mistakes (consistent smoothing).

    The gradient is estimated by coordinate conditional sampling. Given the noise of the other
    documents of a query of n, up to a common constant, the score of document j is normally
    distributed with the mean
    :math:`m_j = s_j - \sigma \mu y_j + \sigma \, \mathrm{mean}_{i \neq j}(\varepsilon_i)` and the
    standard deviation :math:`\tau = \sigma \sqrt{n / (n - 1)}`. The estimate is

    .. math::
        g_j = -\sum_{i \neq j} \left( M_{ji} - M_{ij} \right)
        \frac{1}{\tau} \varphi\!\left( \frac{z_i - m_j}{\tau} \right),

    where z are the scores with noise, :math:`\varphi` is the standard normal density, and
    :math:`M_{ji} - M_{ij}` is the change of the metric when j moves from just below i to just above
    it. It is averaged over ``n_permutations`` draws of the noise. Then the mean over the query is
    subtracted and, in queries of more than two documents, the share ``sfa`` of the component along
    the centred scores :math:`\bar s`, because the scale of the scores has no effect on the metric
    (scale-free acceleration):

    .. math:: g \mathrel{-}= \mathit{sfa} \, \frac{g^T \bar s}{(\|\bar s\| + \nu)^2} \, \bar s.

    Finally, the gradient of a document is multiplied by its weight, and its Hessian is its weight.

    CatBoost's ``num_estimations`` is ``n_permutations`` here, its ``lambda`` is ``sfa``, and its
    ``top`` is the cut-off of the metric. Its NDCG and DCG have ``gain="linear"`` (with
    ``type=Exp``, ``gain="exp"``). With :math:`\sigma \neq 1`, CatBoost adds the mean of the other
    documents' noise without the factor :math:`\sigma`. Its gradients of ERR differ from the
    definition of ERR.

    Ustimenko and Prokhorenkova, "StochasticRank: Global Optimization of Scale-Free Discrete
    Functions", 2020.
    """

    metric: str = param(
        "ndcg",
        Satisfies(_is_metric, "ndcg, dcg, err or mrr, with @k or without, or map", str),
        "the metric that is optimised",
    )
    sigma: float = param(1.0, Real(1e-6, 1e6), "standard deviation of the noise on the scores")
    mu: float = param(
        0.0,
        Real(0, 1e6),
        "how much the score of a document is lowered, in units of sigma per unit of its label",
    )
    nu: float = param(0.01, Real(1e-6, 1e6), "added to the norm of the centred scores of a query")
    sfa: float = param(
        1.0, Real(0, 1), "share of the gradient along the scores of a query that is subtracted"
    )
    n_permutations: int = param(
        10, Integer(1, 10_000), "draws of the noise for each query in each iteration"
    )
    gain: Any = param("exp", GAIN, GAIN_MEANING + "; for NDCG, DCG and (no table) ERR")
    relevant_from: float = with_default(LambdaMART, "relevant_from", 1.0)
    max_grade: float | None = with_default(LambdaMART, "max_grade", None)

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = {**super()._unused_parameters(data), **unused_by_metric(self.metric)}
        return unused if self.sfa > 0 else {**unused, "nu": "with sfa=0"}

    def _objective(self, data: TrainingData) -> Objective:
        metric, _, k = self.metric.partition("@")
        return SmoothedMetric(
            data,
            metric=metric,
            k=int(k) if k else None,
            sigma=self.sigma,
            mu=self.mu,
            nu=self.nu,
            sfa=self.sfa,
            n_permutations=self.n_permutations,
            gain=self.gain,
            relevant_from=self.relevant_from,
            max_grade=self.max_grade,
        )
