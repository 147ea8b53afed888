"""Information coefficient: Pearson's correlation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankgrove import _native
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("ic", "pearson", "pearsonr")
@dataclass(frozen=True, repr=False)
class InformationCoefficient(Metric):
    """Pearson's correlation of scores and labels inside each query.

    With s the scores and y the labels of a query, it is sum (s - mean s)(y - mean y) divided by
    sqrt(sum (s - mean s)^2 sum (y - mean y)^2). A query whose labels are all equal counts as
    empty; if only the scores are all equal, the value is 0. Labels may be negative; an infinite
    score is an error.
    """

    of_values: ClassVar[bool] = True

    empty: float | str = "skip"

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.correlation(queries, of_ranks=False, empty=empty_value(self.empty))
