"""Kendall's rank correlation."""

from __future__ import annotations

from dataclasses import dataclass

from rankgrove import _native
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("tau", "kendall", "kendalltau")
@dataclass(frozen=True, repr=False)
class KendallTau(Metric):
    """Rank correlation of scores and labels inside each query.

    A query whose labels are all equal counts as empty; if only the scores are all equal, tau is 0.
    Labels may be negative.
    """

    variant: str = "b"
    empty: float | str = "skip"

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.kendall_tau(
            queries, correct_ties=self.variant == "b", empty=empty_value(self.empty)
        )
