"""AdaRank: boosting of features, led by a metric."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from rankgrove.linear.adarank import FeatureBoosting
from rankgrove.linear.line import LineMetric
from rankgrove.metrics.parsing import metric as as_metric
from rankgrove.models.linear_features import LinearFeatures
from rankgrove.rankers.base.common_parameters import metric_param
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.linear import Floats, LinearRanker
from rankgrove.rankers.base.paper_settings import (
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Integer
from rankgrove.rankers.base.registry import register_ranker

PAPERS = {
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, appendix F (RankLib)",
        {
            "n_estimators": (500, "appendix F"),
            "metric": ("ndcg@10", "not said; the metric that is reported"),
            "max_repeats": (5, "not said; RankLib's default (-max 5)"),
        },
    ),
    "desa-2016": PaperSettings(
        "De Sá, Gonçalves, Sousa and Salles, Generalized BROOF-L2R, 2016, sections 4.2 and 4.3 "
        "(AdaRank-NDCG; AdaRank-MAP: metric='map')",
        {
            "n_estimators": (500, "the number of rounds is tuned on validation data"),
            "metric": ("ndcg@5", "section 4.3"),
        },
    ),
}


@register_ranker(
    "adarank",
    paper="Xu and Li 2007",
    optimises="NDCG or MAP, query by query",
    variants={"AdaRank-NDCG": {"metric": "ndcg@5"}, "AdaRank-MAP": {"metric": "map"}},
    papers=PAPERS,
)
class AdaRank(LinearRanker):
    r"""AdaRank, boosting over queries with single features as weak rankers.

    :math:`E_q(f)` is the metric of query q when its documents are ranked by f. Round t chooses the
    feature :math:`x_t` with the largest :math:`\sum_q P_t(q) E_q(x_t)`, gives it the weight

    .. math:: \alpha_t = \frac{1}{2} \ln
        \frac{\sum_q P_t(q) (1 + E_q(x_t))}{\sum_q P_t(q) (1 - E_q(x_t))},

    adds :math:`\alpha_t x_t` to the score f, and gives higher weight to queries that f ranks badly,

    .. math:: P_{t+1}(q) \propto e^{-E_q(f)}.

    :math:`P_1` is uniform; weights of queries (the mean of their documents') are factors of all
    :math:`P_t`. A step is one round. While f is a single feature, a round does not change the
    ranking and the next round would choose the same feature; a feature that was chosen
    ``max_repeats`` times in a row is therefore excluded. Metrics are averaged over all orders of
    documents with equal scores. Features whose small values are good are not used. The scales of
    features matter: a feature with large values dominates others (``normalisation``).

    Xu and Li, "AdaRank: a boosting algorithm for information retrieval", 2007.
    """

    metric: Any = metric_param(
        "ndcg@10",
        "what is raised: NDCG@k or MAP, or another one from -1 to 1, the higher the better",
    )
    n_estimators: int = param(500, Integer(1), "maximum number of rounds")
    max_repeats: int = param(5, Integer(1), "rounds in a row that may choose the same feature")

    def _n_planned(self, fit: Fit) -> int:
        return self.n_estimators

    def _check_fit(self, fit: Fit) -> None:
        self._line(fit)

    def _line(self, fit: Fit) -> LineMetric:
        metric = as_metric(self.metric)
        if not metric.greater_is_better:
            raise ValueError(
                f"parameter metric of AdaRank must be better the higher it is, not {self.metric!r}"
            )
        return LineMetric.of(metric, fit.data, self.n_jobs)

    def _walk(self, fit: Fit, features: LinearFeatures, add: Callable[[Floats], bool]) -> None:
        line = self._line(fit)
        prior = line.query_weight
        if prior is None:
            prior = np.ones(fit.data.groups.n_queries)
        prior = np.where(fit.data.groups.sizes > 0, prior, 0.0)
        varies = features.spreads() > 0
        boosting = FeatureBoosting(features, line, prior, varies, self.max_repeats)
        for weights in islice(boosting.rounds(), self.n_estimators):
            if add(weights):
                return
