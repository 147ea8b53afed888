"""A single feature as the score, a simple baseline."""

from __future__ import annotations

import difflib
from typing import Any, ClassVar

import numpy as np

from rankgrove.errors import DataError
from rankgrove.linear.line import LineMetric
from rankgrove.metrics.parsing import metric as as_metric
from rankgrove.models.linear import LinearModel
from rankgrove.models.linear_features import LinearFeatures
from rankgrove.rankers.base.common_parameters import metric_param
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.linear import LinearRanker
from rankgrove.rankers.base.parameters import AnyOf, Choice, Integer, Nothing, Satisfies
from rankgrove.rankers.base.registry import register_ranker


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


@register_ranker(
    "single-feature", paper="baseline", optimises="the choice of one feature, by any metric"
)
class SingleFeature(LinearRanker):
    r"""Ranks by one feature: :math:`s_d = \pm x_{d,f}`.

    The feature is given by name or number, or is the one whose ranking of the training data has the
    best mean of the metric; ties go to the first. Metrics are averaged over all orders of documents
    with equal values, and features that are constant within all queries are excluded. Without a
    ``direction``, the training data also decide whether large or small values are good.

    Attributes
    ----------
    feature_ : number of the feature, counted from 0; None if all are constant within queries
    """

    learns_in_steps: ClassVar[bool] = False

    feature: Any = param(
        None,
        AnyOf(Nothing(), Integer(0), Satisfies(_is_name, "the name of a column", str)),
        "the feature: its number, counted from 0, or its name; None: the best on training data",
    )
    direction: str = param(
        "best",
        Choice("best", "up", "down"),
        "whether large values are good (up), small ones (down), or what training data say (best)",
    )
    metric: Any = metric_param("ndcg@10", "by which training data choose")

    def _check_fit(self, fit: Fit) -> None:
        self._line(fit)

    def _line(self, fit: Fit) -> LineMetric:
        return LineMetric.of(as_metric(self.metric), fit.data, self.n_jobs)

    def _learn(self, fit: Fit) -> FitResult:
        metric = self._line(fit)
        features = self._features(fit, fit.data, training=True)
        signs = {"best": (1.0, -1.0), "up": (1.0,), "down": (-1.0,)}[self.direction]
        nothing = np.zeros(len(fit.data.y))
        chosen, sign, best = -1, 0.0, -np.inf
        for feature in self._candidates(fit, features):
            values = metric.values(nothing, features.column(feature), np.array(signs))
            if values.max() > best:
                chosen, sign, best = feature, signs[int(values.argmax())], float(values.max())
        assert fit.fill is not None
        model = LinearModel(
            columns=fit.data.columns,
            absent=fit.data.absent,
            weights=sign * (np.arange(features.n_features) == chosen),
            fill=fit.fill,
            normalisation=self.normalisation,
        )
        return FitResult(model)

    def _candidates(self, fit: Fit, features: LinearFeatures) -> list[int]:
        """Return the features among which the training data choose."""
        columns = fit.data.columns
        if self.feature is None:
            return [int(feature) for feature in np.flatnonzero(features.spreads() > 0)]
        number = self.feature
        if isinstance(number, str):
            if columns.names is None or number not in columns.names:
                near = difflib.get_close_matches(number, columns.all_names, n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise DataError(f"parameter feature: the data have no column {number!r}{hint}")
            number = columns.names.index(number)
        if number >= columns.count:
            raise DataError(
                f"parameter feature is {number} but the data have {columns.count} features, "
                f"numbered from 0"
            )
        return [int(number)]

    @property
    def feature_(self) -> int | None:
        """Number of the feature, counted from 0; None if all are constant within queries."""
        used = np.flatnonzero(self.coef_)
        return int(used[0]) if len(used) else None
