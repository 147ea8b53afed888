"""Precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankgrove import _native
from rankgrove.metrics.arithmetic import relevance_value
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("p", "precision")
@dataclass(frozen=True, repr=False)
class Precision(Metric):
    """Share of relevant documents among the first k."""

    partial_rankings: ClassVar[bool] = True
    needs_k: ClassVar[bool] = True

    k: int | None = None
    relevant_from: float | str = 1.0
    ties: str = "average"
    empty: float | str = 0.0
    short: str = "pad"

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.cumulated_gain(
            queries,
            relevance_value(self.relevant_from),
            np.ones(queries.longest),
            "k",
            k=self.k,
            ties=self.kernel_ties,
            short_lists=self.short,
            empty=empty_value(self.empty),
        )
