"""Expected values of any metric over random orders of tied documents, for listwise splits.

A *ranking* is the documents of a query (rows of the data) with a score of each. Documents of equal
score come in a random order, all orders equally likely:

- metrics with a native kernel average over these orders exactly (``ties=average``; ``tau`` and
  ``pair-accuracy`` are sums over pairs, of which a tied one adds its mean);
- a Python function is called for every different order of the labels if there are at most
  ``MAX_ORDERS`` of them: exact, too. For more, it is called for ``SAMPLED_ORDERS`` orders. A query
  has the same random keys by which its ties are broken in every ranking, in every tree and on every
  machine, so that the mean over these orders is a fixed objective.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankgrove.metrics.ic import InformationCoefficient
from rankgrove.metrics.kendall_tau import KendallTau
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.pair_accuracy import PairAccuracy
from rankgrove.metrics.python_metric import PythonMetric, function_value
from rankgrove.metrics.spearman import Spearman

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]

MAX_ORDERS = 120
SAMPLED_ORDERS = 64
_SEED = 0x7135
_WITHOUT_TIE_RULE = InformationCoefficient | KendallTau | PairAccuracy | Spearman
_MAX_KEPT = 1 << 16


class ExpectedMetric(Protocol):
    """Expected values of rankings; larger is better."""

    @property
    def reads_scores(self) -> bool:
        """Whether the value depends on more than the order of the scores."""
        ...

    def __call__(self, rows: Rows, offsets: Offsets, scores: Floats) -> Floats:
        """Return the value of each query; NaN where the metric leaves it out."""
        ...


def expected_metric(
    measure: Metric, labels: Floats, offsets: Offsets, ids: npt.NDArray[Any]
) -> ExpectedMetric:
    """Prepare a metric for labels in grouped order; ValueError if it has no known expectation.

    ``ids`` name the queries in messages.
    """
    refuse_unexpected(measure)
    if isinstance(measure, PythonMetric):
        return _FunctionExpectation(measure, labels, offsets, ids)
    return _KernelExpectation(measure, labels, offsets)


def refuse_unexpected(measure: Metric) -> None:
    """Raise ValueError, with the name of the metric, if its expectation cannot be computed."""
    reason = "its expected value over random orders of tied documents is not known"
    if type(measure).mean is not Metric.mean:
        reason = "it is not a mean over queries"
    elif isinstance(measure, PythonMetric | _WITHOUT_TIE_RULE) or "ties" in measure.params:
        return
    raise ValueError(f"the metric {measure} cannot choose listwise splits: {reason}")


class _KernelExpectation:
    """A metric whose kernel averages over the orders of tied documents."""

    def __init__(self, measure: Metric, labels: Floats, offsets: Offsets) -> None:
        if "ties" in measure.params:
            measure = measure.replace(ties="average")
        factor = np.ones(len(offsets) - 1)
        if isinstance(measure, KendallTau) and measure.variant == "b":
            # With broken ties, tau-b is (concordant - discordant) / sqrt(pairs x untied pairs).
            measure = measure.replace(variant="a")
            sizes = np.diff(offsets)
            pairs, untied = sizes * (sizes - 1) / 2, untied_pairs(labels, offsets)
            factor = np.sqrt(np.divide(pairs, untied, out=factor, where=untied > 0))
        self.measure = measure
        self.labels = labels
        self.factor = np.repeat(factor, np.diff(offsets))
        self.reads_scores = isinstance(measure, InformationCoefficient)
        self.sign = 1.0 if measure.greater_is_better else -1.0

    def __call__(self, rows: Rows, offsets: Offsets, scores: Floats) -> Floats:
        prepared = self.measure.prepare(self.labels[rows], offsets, n_jobs=1, part=True)
        return np.asarray(self.sign * self.factor[rows[offsets[:-1]]] * prepared.per_query(scores))


class _FunctionExpectation:
    """A metric that is a Python function: one call per order, at the speed of Python."""

    def __init__(
        self, measure: PythonMetric, labels: Floats, offsets: Offsets, ids: npt.NDArray[Any]
    ) -> None:
        self.measure = measure
        self.labels = labels
        self.offsets = offsets
        self.ids = ids
        self.reads_scores = measure.of == "scores"
        self.sign = 1.0 if measure.greater_is_better else -1.0
        self._rankings: dict[tuple[int, bytes], float] = {}
        self._calls: dict[bytes, float] = {}

    def __call__(self, rows: Rows, offsets: Offsets, scores: Floats) -> Floats:
        queries = np.searchsorted(self.offsets, rows[offsets[:-1]], side="right") - 1
        values = [
            self._ranking(int(query), rows[begin:end], scores[begin:end])
            for query, (begin, end) in zip(queries, itertools.pairwise(offsets), strict=True)
        ]
        return self.sign * np.array(values)

    def _ranking(self, query: int, rows: Rows, scores: Floats) -> float:
        distinct, level = np.unique(-scores, return_inverse=True)
        ordered = scores if self.reads_scores else level
        key = query, rows.tobytes() + ordered.tobytes()

        def expected() -> float:
            labels = self.labels[rows]
            blocks = [labels[level == block] for block in range(len(distinct))]
            orders = distinct_orders(blocks) if n_orders(blocks) <= MAX_ORDERS else None
            if orders is None:
                orders = self._sampled_orders(query, labels, level)
            sorted_scores = np.repeat(-distinct, [len(block) for block in blocks])
            return self._mean(query, orders, sorted_scores)

        return _kept(self._rankings, key, expected)

    def _sampled_orders(
        self, query: int, labels: Floats, level: npt.NDArray[Any]
    ) -> Iterator[Floats]:
        """Yield the labels in ranked order, ties broken by the random keys of the query."""
        keys = np.random.default_rng([_SEED, query]).random((SAMPLED_ORDERS, len(labels)))
        for key in keys:
            yield labels[np.lexsort((key, level))]

    def _mean(self, query: int, orders: Iterator[Floats], scores: Floats) -> float:
        """Return the mean over orders; NaN if the function leaves the query out in all of them."""
        values = []
        for labels in orders:
            columns = [labels, scores] if self.reads_scores else [labels]
            key = b"".join(column.tobytes() for column in columns)
            values.append(_kept(self._calls, key, partial(self._value, query, columns)))
        if any(map(math.isnan, values)) and not all(map(math.isnan, values)):
            raise ValueError(
                f"the metric {self.measure}, query {self.ids[query]}: the function returned None "
                "for some orders of its documents and a number for others, so that it has no "
                "expected value"
            )
        return math.fsum(values) / len(values)

    def _value(self, query: int, columns: list[Floats]) -> float:
        for column in columns:
            column.flags.writeable = False
        return function_value(self.measure, columns, self.ids[query])


def n_orders(blocks: list[Floats]) -> int:
    """Return the number of different orders of the labels inside the blocks."""
    total = 1
    for block in blocks:
        counts = np.unique(block, return_counts=True)[1]
        total *= math.factorial(len(block)) // math.prod(map(math.factorial, map(int, counts)))
        if total > MAX_ORDERS:
            break
    return total


def distinct_orders(blocks: list[Floats]) -> Iterator[Floats]:
    """Yield each different order of the labels inside the blocks once."""
    for parts in itertools.product(*map(_distinct_permutations, blocks)):
        yield np.array([label for part in parts for label in part])


def _distinct_permutations(labels: Floats) -> list[list[float]]:
    """Return the different orders of some labels."""
    orders: list[list[float]] = [[]]
    # One label after the other is put in every place but behind its equals.
    for label in sorted(labels.tolist()):
        orders = [
            [*order[:place], label, *order[place:]]
            for order in orders
            for place in range(order.index(label) + 1 if label in order else len(order) + 1)
        ]
    return orders


def _kept(table: dict[Any, float], key: Any, compute: Callable[[], float]) -> float:
    """Return a value from the cache, or compute it."""
    value = table.get(key)
    if value is None:
        value = compute()
        if len(table) >= _MAX_KEPT:
            table.clear()
        table[key] = value
    return value


def untied_pairs(labels: Floats, offsets: Offsets) -> Floats:
    """Return the number of pairs of different labels of each query."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    classes, counts = np.unique(np.c_[query, labels], axis=0, return_counts=True)
    tied = np.zeros(len(offsets) - 1)
    np.add.at(tied, classes[:, 0].astype(np.int64), counts * (counts - 1) / 2)
    sizes = np.diff(offsets)
    return np.asarray(sizes * (sizes - 1) / 2 - tied)
