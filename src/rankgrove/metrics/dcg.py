"""Discounted cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registry import register_metric


@register_metric("dcg")
@dataclass(frozen=True, repr=False)
class DCG(Metric):
    """Sum over the first k ranks of gain x discount (Jarvelin and Kekalainen 2002)."""

    divisor: ClassVar[str] = "none"

    k: int | None = None
    gain: str | tuple[float, ...] = "exp"
    discount: str = "log2"
    ties: str = "input"
    empty: float | str = 0.0
    short: str = "pad"

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.cumulated_gain(
            queries,
            gain_worth(self.gain),
            discounts(self.discount, queries, self.k),
            self.divisor,
            k=self.k,
            ties=self.kernel_ties,
            short_lists=self.short,
            empty=empty_value(self.empty),
        )


def gain_worth(gain: str | tuple[float, ...]) -> _native.Worth:
    """Return the native form of the parameter ``gain``."""
    if isinstance(gain, tuple):
        return _native.Worth.gain("table", list(gain))
    return _native.Worth.gain(gain, [])


def discounts(
    discount: str, queries: _native.JudgedQueries, k: int | None
) -> npt.NDArray[np.float64]:
    """Return the factor of each rank that the queries can reach."""
    kind, _, power = discount.partition(":")
    depth = queries.longest if k is None else min(queries.longest, k)
    return _native.discount_table(kind, float(power or 1), depth)
