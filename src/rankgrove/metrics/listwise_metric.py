"""Metrics as forests and YetiLoss raise them: gains, discounts, the normaliser of each query."""

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
    label_values,
    over_ideal,
    relevance_value,
    satisfaction_value,
)
from rankgrove.metrics.average_precision import MAP
from rankgrove.metrics.dcg import DCG
from rankgrove.metrics.err import ERR
from rankgrove.metrics.expected_metric import (
    ExpectedMetric,
    expected_metric,
    refuse_unexpected,
)
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.ndcg import NDCG
from rankgrove.metrics.parsing import metric
from rankgrove.metrics.precision import Precision
from rankgrove.metrics.rank_biased_precision import RBP
from rankgrove.metrics.recall import Recall
from rankgrove.metrics.reciprocal_rank import MRR
from rankgrove.metrics.spearman import Spearman

Floats = npt.NDArray[np.float64]
Offsets = npt.NDArray[np.int64]


SumOverRanks: TypeAlias = DCG | Precision | RBP | Recall
SumOverBlocks: TypeAlias = MAP | MRR | ERR

LISTWISE_METRIC_WORDS = (
    "a mean over queries with an expected value over random orders of tied documents (not rmse, "
    "class-error, err-bound, ece or filtered-dcg; p, recall and others that depend on the order "
    "only through their cut-off need a k), as text, Metric or function"
)

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
    kind : ``"position"`` adds gain x discount over the ranks, ``"function"`` is any function of
        rankings, others are sums over blocks of ties
    k : ranks that count, of sums over blocks; None: all
    function : the expected values of rankings, of the kind ``"function"``
    """

    gain: Floats
    discount: Floats
    scale: Floats
    weight: Floats
    kind: str = "position"
    k: int | None = None
    function: ExpectedMetric | None = None


def as_position_metric(text: Any) -> SumOverRanks:
    """Parse a metric that is a sum of gain x discount; ValueError for any other."""
    measure = as_listwise_metric(text)
    if not isinstance(measure, SumOverRanks) or not _has_fast_splits(measure):
        raise ValueError(f"{measure} is no sum over ranks: use ndcg, dcg, p@k, recall@k or rbp")
    if measure.empty not in (0.0, "skip"):
        raise ValueError(f"{measure}: empty={measure.empty} is not possible for single trees")
    return measure


def as_listwise_metric(text: Any) -> Metric:
    """Parse a metric that listwise splits can maximise; ValueError, with its name, for any other.

    The text may be a Metric or a function as well.
    """
    measure = metric(text)
    refuse_unexpected(measure)
    if measure.needs_k and measure.params.get("k") is None:
        name = measure.name
        raise ValueError(
            f"{name} needs a k, as in '{name}@10': without one every order has the same value"
        )
    ties = measure.params.get("ties", "average")
    if ties not in ("input", "average"):
        raise ValueError(f"{measure}: ties={ties} is not possible: tied documents of a single tree")
    return measure


def is_listwise_metric(value: Any) -> bool:
    """Return whether this is a metric, or its text, that listwise splits can maximise."""
    try:
        return as_listwise_metric(value) is not None
    except (TypeError, ValueError):
        return False


def read_listwise_metric(text: str) -> str:
    """Return the text of a metric after a check that listwise splits can maximise it."""
    as_listwise_metric(text)
    return text


def _has_fast_splits(measure: Metric) -> bool:
    """Return whether gains of splits follow from sums, without a ranking of each candidate."""
    if not isinstance(measure, SumOverRanks | SumOverBlocks | Spearman):
        return False
    params = measure.params
    return params.get("k") is None or params.get("short", "pad") == "pad"  # else lists may be short


def listwise_metric(
    measure: Metric,
    labels: Floats,
    offsets: Offsets,
    ids: npt.NDArray[Any],
    *,
    gain_table: Sequence[float] | None = None,
    discount_table: Sequence[float] | None = None,
    document_weight: Floats | None = None,
) -> ListwiseMetric:
    """Prepare a metric for labels in grouped order; tables replace the metric's own.

    Parameters
    ----------
    offsets : of the queries, none of them empty
    ids : of the queries, for messages
    """
    if not isinstance(measure, SumOverRanks) or not _has_fast_splits(measure):
        for name, table in (("gain_table", gain_table), ("discount_table", discount_table)):
            if table is not None:
                raise ValueError(f"parameter {name} has no effect on {measure}")
    weight = np.ones(len(offsets) - 1)
    if document_weight is not None:
        weight = np.add.reduceat(document_weight, offsets[:-1]) / np.diff(offsets)
    if isinstance(measure, Spearman):
        return _spearman(labels, offsets, weight, measure.empty == "skip")
    if not _has_fast_splits(measure):
        return _function(measure, labels, offsets, ids, weight)
    assert isinstance(measure, SumOverRanks | SumOverBlocks)
    longest = int(np.diff(offsets).max(initial=0))
    gain = _gains(measure, labels, gain_table)
    if discount_table is not None:
        discount = np.asarray(discount_table, np.float64)[:longest]
    else:
        discount = _discounts(measure, longest)
    counting = gain if document_weight is None else np.where(document_weight > 0, gain, 0.0)
    if measure.empty == "skip":
        weight = np.where(np.add.reduceat(counting, offsets[:-1]) > 0, weight, 0.0)
    scale = weight.copy()
    if isinstance(measure, NDCG):
        scale = over_ideal(weight, ideal_dcg(offsets, counting, discount))
    elif isinstance(measure, MAP | Recall):
        relevant = np.add.reduceat(counting, offsets[:-1])
        if isinstance(measure, MAP) and measure.denominator == "k" and measure.k is not None:
            relevant = np.minimum(relevant, measure.k)
        scale = over_ideal(weight, relevant)
    kind = _BLOCK_KINDS.get(type(measure), "position")
    return ListwiseMetric(gain, np.ascontiguousarray(discount), scale, weight, kind, measure.k)


def _spearman(labels: Floats, offsets: Offsets, weight: Floats, skips: bool) -> ListwiseMetric:
    """Spearman's correlation is linear in the ranks: gain R - mean R, factor -rank.

    R is the rank of the label, equal ones sharing their mean rank, so that over all orders of tied
    documents the mean is sum (R - mean R) (-rank) / sqrt(sum (R - mean R)^2 n (n^2 - 1) / 12).
    """
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    _, group, count = np.unique(
        np.c_[query, labels], axis=0, return_inverse=True, return_counts=True
    )
    group = group.ravel()
    # The mean rank of a group of equal labels: the labels below it in the query, and half of its
    # own. The mean over the query is 0.
    smaller = (np.cumsum(count) - count)[group] - offsets[:-1][query]
    ranks = smaller + (count[group] - np.repeat(sizes, sizes)) / 2.0
    squares = np.add.reduceat(ranks * ranks, offsets[:-1])
    largest = np.sqrt(squares * sizes * (sizes**2.0 - 1) / 12)
    if skips:
        weight = np.where(squares > 0, weight, 0.0)
    longest = int(sizes.max(initial=0))
    factors = np.arange(longest - 1, -1, -1, dtype=np.float64)
    return ListwiseMetric(ranks, factors, over_ideal(weight, largest), weight)


def _function(
    measure: Metric, labels: Floats, offsets: Offsets, ids: npt.NDArray[Any], weight: Floats
) -> ListwiseMetric:
    """Prepare a metric that is evaluated for the ranking of every candidate."""
    expected = expected_metric(measure, labels, offsets, ids)
    rows = np.arange(len(labels), dtype=np.int32)
    counted = ~np.isnan(expected(rows, offsets, np.zeros(len(rows))))
    weight = np.where(counted, weight, 0.0)
    scale = weight
    if not expected.reads_scores:  # no order of equal labels is better than another
        lowest = np.minimum.reduceat(labels, offsets[:-1])
        scale = np.where(np.maximum.reduceat(labels, offsets[:-1]) > lowest, weight, 0.0)
    nothing = np.zeros(len(rows))
    return ListwiseMetric(nothing, np.empty(0), scale, weight, "function", function=expected)


def _gains(
    measure: SumOverRanks | SumOverBlocks, labels: Floats, table: Sequence[float] | None
) -> Floats:
    if table is not None:
        return label_gains(labels, table)
    if isinstance(measure, DCG):
        return label_gains(labels, measure.gain)
    if isinstance(measure, ERR):
        return label_values(labels, satisfaction_value(measure.gain, measure.max_grade))
    return label_values(labels, relevance_value(measure.relevant_from))


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
