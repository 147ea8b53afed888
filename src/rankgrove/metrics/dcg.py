"""Discounted cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankgrove import _native
from rankgrove.metrics.arithmetic import discounts, gain_value
from rankgrove.metrics.metric import Metric, leading_ranks
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("dcg")
@dataclass(frozen=True, repr=False)
class DCG(Metric):
    """Sum over the first k ranks of gain x discount (Jarvelin and Kekalainen 2002)."""

    partial_rankings: ClassVar[bool] = True
    divisor: ClassVar[str] = "none"

    k: int | None = None
    gain: str | tuple[float, ...] = "exp"
    discount: str = "log2"
    ties: str = "average"
    empty: float | str = 0.0
    short: str = "pad"

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.cumulated_gain(
            queries,
            gain_value(self.gain),
            discounts(self.discount, leading_ranks(queries, self.k)),
            self.divisor,
            k=self.k,
            ties=self.kernel_ties,
            short_lists=self.short,
            empty=empty_value(self.empty),
        )
