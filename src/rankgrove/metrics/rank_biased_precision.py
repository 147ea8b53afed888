"""Rank-biased precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankgrove import _native
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import empty_value, relevance_threshold
from rankgrove.metrics.registry import register_metric


@register_metric("rbp")
@dataclass(frozen=True, repr=False)
class RBP(Metric):
    """(1 - p) sum_r p^(r - 1) [document at rank r is relevant] (Moffat and Zobel 2008)."""

    k: int | None = None
    persistence: float = 0.8
    relevant_from: float | str = 1.0
    ties: str = "input"
    empty: float | str = 0.0

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        weights = np.full(queries.longest, self.persistence, np.float64)
        weights = (1 - self.persistence) * weights ** np.arange(queries.longest)
        return _native.cumulated_gain(
            queries,
            _native.Worth.relevance(relevance_threshold(self.relevant_from)),
            weights,
            "none",
            k=self.k,
            ties=self.kernel_ties,
            short_lists="pad",
            empty=empty_value(self.empty),
        )
