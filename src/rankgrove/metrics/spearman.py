"""Spearman's rank correlation."""

from __future__ import annotations

from dataclasses import dataclass

from rankgrove import _native
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("spearman", "spearmanr")
@dataclass(frozen=True, repr=False)
class Spearman(Metric):
    """Pearson's correlation of the ranks of scores and labels inside each query.

    Equal values share the mean of their ranks. A query whose labels are all equal counts as empty;
    if only the scores are all equal, the value is 0. Labels may be negative.
    """

    empty: float | str = "skip"

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.correlation(queries, of_ranks=True, empty=empty_value(self.empty))
