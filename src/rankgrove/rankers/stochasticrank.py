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
    r"""Boosting of a metric itself, smoothed by Gaussian noise: CatBoost's StochasticRank.

    The loss of a query is :math:`-\mathrm{E}\, M(s - \sigma \mu y + \sigma \varepsilon)` with
    standard normal :math:`\varepsilon`: the metric M of randomly perturbed scores. A positive
    :math:`\mu` ranks documents with high labels lower than their scores say, so that ties count as
    mistakes (consistent smoothing). The gradient is estimated by coordinate conditional sampling:
    given the noise of the other documents of a query of n, up to a common constant, the score of
    document j is normal around
    :math:`m_j = s_j - \sigma \mu y_j + \sigma \, \mathrm{mean}_{i \neq j}(\varepsilon_i)` with the
    standard deviation :math:`\tau = \sigma \sqrt{n / (n - 1)}`, and

    .. math::
        g_j = -\sum_{i \neq j} \left( M_{ji} - M_{ij} \right)
        \frac{1}{\tau} \varphi\!\left( \frac{z_i - m_j}{\tau} \right), \qquad h_j = w_j,

    where z are the scores with noise, :math:`\varphi` is the standard normal density, and
    :math:`M_{ji} - M_{ij}` is what the metric gains when j, being just below i, moves just above
    it. The gradient is the mean over ``n_permutations`` draws. Then its mean over the query is
    taken out, and from queries of more than two documents the share ``sfa`` of its part along the
    centred scores :math:`\bar s`, as their scale has no effect on the metric (scale-free
    acceleration):

    .. math:: g \mathrel{-}= \mathit{sfa} \, \frac{g^T \bar s}{(\|\bar s\| + \nu)^2} \, \bar s.

    CatBoost's ``num_estimations`` is ``n_permutations``, its ``lambda`` is ``sfa``, its ``top`` the
    cut-off of the metric, and its NDCG and DCG have ``gain="linear"`` (``type=Exp``:
    ``gain="exp"``). With :math:`\sigma \neq 1` CatBoost adds the mean of the other documents' noise
    without the factor :math:`\sigma`, and its gradients of ERR are not those of the definition.

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
        "how far below its score a document is ranked, in units of sigma, per unit of its label",
    )
    nu: float = param(0.01, Real(1e-6, 1e6), "added to the norm of the scores of a query")
    sfa: float = param(
        1.0, Real(0, 1), "share of the gradient along the scores of a query that is taken out"
    )
    n_permutations: int = param(
        10, Integer(1, 10_000), "draws of the noise for each query in each iteration"
    )
    gain: Any = param("exp", GAIN, GAIN_MEANING + "; for NDCG, DCG and (no table) ERR")
    relevant_from: float = with_default(LambdaMART, "relevant_from", 1.0)
    max_grade: float | None = with_default(LambdaMART, "max_grade", None)

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        idle = {**super()._unused_parameters(data), **unused_by_metric(self.metric)}
        return idle if self.sfa > 0 else {**idle, "nu": "with sfa=0"}

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
