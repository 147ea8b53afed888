"""The metric of listwise splits: gains, discounts and the normaliser of each query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.metrics.arithmetic import (
    discounts,
    ideal_dcg,
    label_gains,
    over_ideal,
    relevance_worth,
    worths,
)
from rankgrove.metrics.dcg import DCG
from rankgrove.metrics.ndcg import NDCG
from rankgrove.metrics.parsing import metric
from rankgrove.metrics.precision import Precision
from rankgrove.metrics.rank_biased_precision import RBP

Floats = npt.NDArray[np.float64]
Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PositionMetric:
    """A metric that adds gain x discount over the ranks of a query, times the query's scale.

    Attributes
    ----------
    gain : of each row
    discount : factor of each rank, from the top; 0 beyond its end
    scale : of each query, 1 or 1 / ideal DCG (0 where that is 0), times its weight
    weight : of each query in the mean
    """

    gain: Floats
    discount: Floats
    scale: Floats
    weight: Floats


def as_position_metric(text: Any) -> DCG | Precision | RBP:
    """Parse a metric that listwise splits can maximise; ValueError for any other."""
    measure = metric(text)
    if not isinstance(measure, DCG | Precision | RBP):
        raise ValueError(f"{measure} is no sum over ranks: use ndcg, dcg, p@k or rbp")
    if isinstance(measure, Precision) and measure.k is None:
        raise ValueError("p needs a k, as in 'p@10': without one every order has the same value")
    # Documents of equal score share their ranks, and a query without a relevant one counts 0.
    fixed = {"ties": ("input", "average"), "empty": (0.0,), "short": ("pad",)}
    for name, possible in fixed.items():
        value = measure.params.get(name, possible[0])
        if value not in possible:
            raise ValueError(f"{measure}: {name}={value} is not possible for single trees")
    return measure


def is_position_metric(text: Any) -> bool:
    """Return whether the text names a metric that listwise splits can maximise."""
    try:
        return isinstance(text, str) and as_position_metric(text) is not None
    except ValueError:
        return False


def position_metric(
    text: str,
    labels: Floats,
    offsets: Offsets,
    *,
    gain_table: Sequence[float] | None = None,
    discount_table: Sequence[float] | None = None,
    document_weight: Floats | None = None,
) -> PositionMetric:
    """Prepare a metric for labels in grouped order; tables replace the metric's own."""
    measure = as_position_metric(text)
    sizes = np.diff(offsets)
    longest = int(sizes.max(initial=0))
    gain = _gains(measure, labels, gain_table)
    if discount_table is not None:
        discount = np.asarray(discount_table, np.float64)[:longest]
    else:
        discount = _discounts(measure, longest)
    weight = np.ones(len(sizes))
    if document_weight is not None:
        weight = np.add.reduceat(document_weight, offsets[:-1]) / sizes
        gain_that_counts = np.where(document_weight > 0, gain, 0.0)
    else:
        gain_that_counts = gain
    scale = weight.copy()
    if isinstance(measure, NDCG):
        scale = over_ideal(weight, ideal_dcg(offsets, gain_that_counts, discount))
    return PositionMetric(gain, np.ascontiguousarray(discount), scale, weight)


def _gains(measure: DCG | Precision | RBP, labels: Floats, table: Sequence[float] | None) -> Floats:
    if table is not None:
        return label_gains(labels, table)
    if isinstance(measure, DCG):
        return label_gains(labels, measure.gain)
    return worths(labels, relevance_worth(measure.relevant_from))


def _discounts(measure: DCG | Precision | RBP, longest: int) -> Floats:
    k = longest if measure.k is None else min(measure.k, longest)
    if isinstance(measure, Precision):
        return np.full(k, 1.0 / float(measure.k or 1))
    if isinstance(measure, RBP):
        return measure.rank_weights(k)
    return discounts(measure.discount, k)
