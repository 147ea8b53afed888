"""The metric that listwise splits raise: gains, discounts and what normalises a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.errors import DataError
from rankgrove.metrics.dcg import DCG
from rankgrove.metrics.metric import Metric, metric
from rankgrove.metrics.ndcg import NDCG
from rankgrove.metrics.parameters import relevance_threshold
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


def is_position_metric(text: Any) -> bool:
    """Tell whether the text names a metric that listwise splits can raise."""
    if not isinstance(text, str):
        return False
    try:
        measure = metric(text)
    except ValueError:
        return False
    if isinstance(measure, Precision):
        return measure.k is not None
    return isinstance(measure, DCG | RBP)


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
    measure = metric(text)
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
        ideal = _ideal(gain_that_counts, offsets, discount)
        scale = np.divide(weight, ideal, out=np.zeros_like(weight), where=ideal > 0)
    return PositionMetric(gain, np.ascontiguousarray(discount), scale, weight)


def _gains(measure: Metric, labels: Floats, table: Sequence[float] | None) -> Floats:
    if isinstance(measure, Precision | RBP) and table is None:
        return (labels >= relevance_threshold(measure.relevant_from)).astype(np.float64)
    gain = table if table is not None else measure.gain  # type: ignore[attr-defined]
    if isinstance(gain, str):
        return labels.copy() if gain == "linear" else np.exp2(labels) - 1.0
    values = np.asarray(gain, np.float64)
    wrong = np.flatnonzero((labels != np.floor(labels)) | (labels < 0) | (labels >= len(values)))
    if len(wrong):
        raise DataError(
            f"label {labels[wrong[0]]:g} is not in the table of gains, which has the labels 0 to "
            f"{len(values) - 1}"
        )
    return values[labels.astype(np.int64)]


def _discounts(measure: Metric, longest: int) -> Floats:
    k = longest if measure.k is None else min(measure.k, longest)  # type: ignore[attr-defined]
    if isinstance(measure, Precision):
        return np.full(k, 1.0 / float(measure.k or 1))
    if isinstance(measure, RBP):
        p = measure.persistence
        return np.asarray((1 - p) * p ** np.arange(k), np.float64)
    kind, _, power = measure.discount.partition(":")  # type: ignore[attr-defined]
    return _native.discount_table(kind, float(power or 1), k)


def _ideal(gain: Floats, offsets: Offsets, discount: Floats) -> Floats:
    """Largest DCG of each query, given that every query has documents."""
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    best_first = np.lexsort((-gain, query))
    rank = np.arange(len(gain)) - np.repeat(offsets[:-1], sizes)
    reached = rank < len(discount)
    worth = np.zeros(len(gain))
    worth[reached] = gain[best_first[reached]] * discount[rank[reached]]
    return np.asarray(np.add.reduceat(worth, offsets[:-1]), np.float64)
