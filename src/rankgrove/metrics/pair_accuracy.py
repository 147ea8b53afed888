"""Pair accuracy."""

from __future__ import annotations

from dataclasses import dataclass

from rankgrove import _native
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("pair-accuracy", "pairaccuracy")
@dataclass(frozen=True, repr=False)
class PairAccuracy(Metric):
    """Share of the pairs with different labels that the scores put in the right order.

    A pair of equal scores counts one half. A query whose labels are all equal has no such pair and
    counts as empty. Labels may be negative.
    """

    empty: float | str = "skip"

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.pair_accuracy(queries, empty=empty_value(self.empty))
