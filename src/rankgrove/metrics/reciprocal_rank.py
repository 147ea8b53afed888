"""Mean reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankgrove import _native
from rankgrove.metrics.arithmetic import relevance_value
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("mrr", "rr")
@dataclass(frozen=True, repr=False)
class MRR(Metric):
    """1 / rank of the first relevant document, 0 if it lies beyond k."""

    partial_rankings: ClassVar[bool] = True

    k: int | None = None
    relevant_from: float | str = 1.0
    ties: str = "average"
    empty: float | str = 0.0

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.reciprocal_rank(
            queries,
            relevance_value(self.relevant_from),
            k=self.k,
            ties=self.kernel_ties,
            empty=empty_value(self.empty),
        )
