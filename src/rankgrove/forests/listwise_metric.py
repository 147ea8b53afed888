"""The metric of listwise splits: gains, discounts and the normaliser of each query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rankgrove.metrics.arithmetic import (
    discounts,
    ideal_dcg,
    label_gains,
    over_ideal,
    relevance_worth,
    satisfaction_worth,
    worths,
)
from rankgrove.metrics.average_precision import MAP
from rankgrove.metrics.dcg import DCG
from rankgrove.metrics.err import ERR
from rankgrove.metrics.ndcg import NDCG
from rankgrove.metrics.parsing import metric
from rankgrove.metrics.precision import Precision
from rankgrove.metrics.rank_biased_precision import RBP
from rankgrove.metrics.recall import Recall
from rankgrove.metrics.reciprocal_rank import MRR

Floats = npt.NDArray[np.float64]
Offsets = npt.NDArray[np.int64]


SumOverRanks: TypeAlias = DCG | Precision | RBP | Recall
SumOverBlocks: TypeAlias = MAP | MRR | ERR

# Kinds of native/forests/listwise/block_metrics.hpp.
_BLOCK_KINDS = {MAP: "average-precision", MRR: "reciprocal-rank", ERR: "expected-reciprocal-rank"}


@dataclass(frozen=True)
class ListwiseMetric:
    """A metric that listwise splits raise, prepared for labels.

    Attributes
    ----------
    gain : of each row: its gain, its relevance (MAP, MRR) or its chance to satisfy (ERR)
    discount : factor of each rank, from the top; 0 beyond its end
    scale : of each query, 1, 1 / ideal DCG or 1 / relevant documents (0 where that is 0), times its
        weight
    weight : of each query in the mean
    kind : ``"position"`` adds gain x discount over the ranks; others are sums over blocks of ties
    k : ranks that count, of the other kinds; None: all
    """

    gain: Floats
    discount: Floats
    scale: Floats
    weight: Floats
    kind: str = "position"
    k: int | None = None


def as_position_metric(text: Any) -> SumOverRanks:
    """Parse a metric that is a sum of gain x discount; ValueError for any other."""
    measure = as_listwise_metric(text)
    if not isinstance(measure, SumOverRanks):
        raise ValueError(f"{measure} is no sum over ranks: use ndcg, dcg, p@k, recall@k or rbp")
    return measure


def as_listwise_metric(text: Any) -> SumOverRanks | SumOverBlocks:
    """Parse a metric that listwise splits can maximise; ValueError for any other."""
    measure = metric(text)
    if not isinstance(measure, SumOverRanks | SumOverBlocks):
        raise ValueError(
            f"the expected value of {measure} over random orders of tied documents is not known: "
            "use ndcg, dcg, p@k, recall@k, rbp, map, mrr or err"
        )
    if isinstance(measure, Precision | Recall) and measure.k is None:
        name = measure.name
        raise ValueError(
            f"{name} needs a k, as in '{name}@10': without one every order has the same value"
        )
    # Documents of equal score share their ranks, and a query without a relevant one counts 0.
    fixed = {"ties": ("input", "average"), "empty": (0.0,), "short": ("pad",)}
    for name, possible in fixed.items():
        value = measure.params.get(name, possible[0])
        if value not in possible:
            raise ValueError(f"{measure}: {name}={value} is not possible for single trees")
    return measure


def is_listwise_metric(text: Any) -> bool:
    """Return whether the text names a metric that listwise splits can maximise."""
    try:
        return isinstance(text, str) and as_listwise_metric(text) is not None
    except ValueError:
        return False


def listwise_metric(
    measure: SumOverRanks | SumOverBlocks,
    labels: Floats,
    offsets: Offsets,
    *,
    gain_table: Sequence[float] | None = None,
    discount_table: Sequence[float] | None = None,
    document_weight: Floats | None = None,
) -> ListwiseMetric:
    """Prepare a metric for labels in grouped order; tables replace the metric's own."""
    if not isinstance(measure, SumOverRanks):
        for name, table in (("gain_table", gain_table), ("discount_table", discount_table)):
            if table is not None:
                raise ValueError(f"parameter {name} has no effect on {measure}")
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
    elif isinstance(measure, MAP | Recall):
        relevant = np.add.reduceat(gain_that_counts, offsets[:-1])
        if isinstance(measure, MAP) and measure.denominator == "k" and measure.k is not None:
            relevant = np.minimum(relevant, measure.k)
        scale = over_ideal(weight, relevant)
    kind = _BLOCK_KINDS.get(type(measure), "position")
    return ListwiseMetric(gain, np.ascontiguousarray(discount), scale, weight, kind, measure.k)


def _gains(
    measure: SumOverRanks | SumOverBlocks, labels: Floats, table: Sequence[float] | None
) -> Floats:
    if table is not None:
        return label_gains(labels, table)
    if isinstance(measure, DCG):
        return label_gains(labels, measure.gain)
    if isinstance(measure, ERR):
        return worths(labels, satisfaction_worth(measure.gain, measure.max_grade))
    return worths(labels, relevance_worth(measure.relevant_from))


def _discounts(measure: SumOverRanks | SumOverBlocks, longest: int) -> Floats:
    if not isinstance(measure, SumOverRanks):
        return np.empty(0)
    k = longest if measure.k is None else min(measure.k, longest)
    if isinstance(measure, Precision):
        return np.full(k, 1.0 / float(measure.k or 1))
    if isinstance(measure, RBP):
        return measure.rank_weights(k)
    if isinstance(measure, Recall):
        return np.ones(k)
    return discounts(measure.discount, k)
