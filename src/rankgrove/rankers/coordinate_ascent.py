"""Coordinate ascent: linear scores that raise the metric itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankgrove.linear.coordinate_ascent import CoordinateSearch
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
from rankgrove.rankers.base.parameters import Integer, Real
from rankgrove.rankers.base.registry import register_ranker

PAPERS = {
    "xia-2019": PaperSettings(
        "Xia, Zhai and Wang, Plackett-Luce Model for Learning-to-Rank Task, 2019, section 4, "
        "system 10",
        {"metric": ("ndcg@10", "table 1: optimises NDCG; section 4: concentrates on NDCG@10")},
        departures=("the paper gives no number of restarts and no size of steps",),
    ),
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, appendix F (RankLib)",
        {
            "metric": ("ndcg@10", "not said; the metric that is reported"),
            "n_restarts": (5, "not said; RankLib's default (-r 5)"),
            "max_passes": (25, "not said; RankLib's default (-i 25)"),
            "tolerance": (0.001, "not said; RankLib's default (-tolerance)"),
        },
    ),
}


@register_ranker(
    "coordinate-ascent",
    paper="Metzler and Croft 2007",
    optimises="any metric itself",
    papers=PAPERS,
)
class CoordinateAscent(LinearRanker):
    r"""Coordinate ascent, a linear ranker that raises the metric itself.

    With scores :math:`w^T x`, one weight after the other, in random order, is moved to the best of

    .. math:: w_f \pm \epsilon |w_f| (1 + g + \dots + g^{j-1}), \quad j = 1 \dots n, \quad
        \text{and } 0,

    by the mean metric of the training queries. The weight stays if no candidate is better, so the
    metric never falls.
    Weights are measured in units of the spread of their feature within queries (and
    one near 0 moves as if it were 1 / number of features). A pass goes over all features; passes
    end when one gains no more than ``tolerance``. The first ascent starts at equal weights, each
    restart at random ones; the best weights so far are kept. A step is one pass, and its weights
    are the best so far.

    Few documents change places between neighbouring candidates, so the rankings are updated instead
    of sorted again. Metrics are averaged over all orders of documents with equal scores. A Python
    function as the metric is slower and gets documents of equal score in a random order.
    The weight of a query in the mean is that of its documents.

    Metzler and Croft, "Linear feature-based models for information retrieval", 2007.
    """

    metric: Any = metric_param("ndcg@10", "what is raised")
    n_restarts: int = param(2, Integer(0), "further ascents, from random weights")
    max_passes: int = param(25, Integer(1), "maximum number of passes over the features per ascent")
    tolerance: float = param(1e-3, Real(0), "minimum gain of a pass")
    n_steps: int = param(20, Integer(1, 60), "moves tried per direction (n)")
    first_step: float = param(0.05, Real(1e-9, 1e6), "size of the first move (epsilon)")
    growth: float = param(2.0, Real(1, 1000, above=True), "by which moves grow (g)")

    def _n_planned(self, fit: Fit) -> int:
        return (1 + self.n_restarts) * self.max_passes

    def _check_fit(self, fit: Fit) -> None:
        self._line(fit)

    def _line(self, fit: Fit) -> LineMetric:
        return LineMetric.of(as_metric(self.metric), fit.data, self.n_jobs)

    def _walk(self, fit: Fit, features: LinearFeatures, add: Callable[[Floats], bool]) -> None:
        search = CoordinateSearch(
            features,
            self._line(fit),
            features.spreads(),
            self.n_steps,
            self.first_step,
            self.growth,
        )
        rng = np.random.default_rng(fit.seed)
        best_weights, best_value = np.zeros(features.n_features), -np.inf
        for ascent in range(1 + self.n_restarts):
            start = np.ones(features.n_features)
            if ascent > 0:
                start = rng.uniform(-1.0, 1.0, features.n_features)
            start = np.where(search.spreads > 0, start / np.abs(start).sum(), 0.0)
            passes = search.passes(start, rng, self.tolerance)
            for _, (weights, value) in zip(range(self.max_passes), passes, strict=False):
                if value > best_value:
                    best_weights, best_value = weights, value
                if add(best_weights):
                    return
