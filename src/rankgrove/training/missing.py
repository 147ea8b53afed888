"""Fill values: the replacement of missing values (NaN) in each column.

A policy becomes a vector of one fill value per feature, computed on the training data and kept with
the model; binning and scoring read NaN as that value. The matrix itself is never changed.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.dense import as_matrix
from rankgrove.data.matrix.feature_matrix import Array, FeatureMatrix, StoredEntries
from rankgrove.workers.row_shard import Integers, RowShard
from rankgrove.workers.run_exchange import (
    ColumnSummary,
    Counts,
    Keys,
    RunConsumer,
    RunExchange,
    ascending,
    key_values,
)

MissingPolicy = Literal["keep", "zero", "mean", "median", "inf"]


def fill_values(
    X: FeatureMatrix | Array, policy: str, shard: RowShard | None = None
) -> npt.NDArray[np.float32]:
    """Return the value that replaces NaN in each column of X.

    Parameters
    ----------
    X : training data
    shard : position of X among the rows of all workers; None: it holds all rows
    policy : ``"keep"`` (NaN: each split learns where missing values go), ``"zero"``, ``"mean"`` or
        ``"median"`` of the finite values of the column (0 if there are none), ``"inf"`` (+infinity)
    """
    X = as_matrix(X)
    n_features = X.n_columns
    if policy == "keep":
        return np.full(n_features, np.nan, np.float32)
    if policy == "zero":
        return np.zeros(n_features, np.float32)
    if policy == "inf":
        return np.full(n_features, np.inf, np.float32)
    if policy == "mean":
        whole = shard or RowShard(len(X), 0)
        return X.memoised("mean", lambda: {"mean": _column_means(X, whole)})["mean"]
    if policy == "median":
        if shard is not None and not shard.single_worker:
            return _shared_medians(X, shard)
        return X.memoised("median", lambda: {"median": _medians(X)})["median"]
    raise ValueError(
        f"missing must be one of {', '.join(map(repr, get_args(MissingPolicy)))}, not {policy!r}"
    )


def _column_means(X: FeatureMatrix, shard: RowShard) -> npt.NDArray[np.float32]:
    """Return column means of the finite values, by integer sums: the same for any shards."""
    if X.entries is None:
        totals, counts, exponents = _dense_sums(X, shard)
    else:
        totals, counts, exponents = _sparse_sums(X.entries, X.shape, shard)
    totals, counts = shard.sum([totals, counts])
    means = np.ldexp(totals.astype(np.float64), -exponents) / np.maximum(counts, 1)
    result: npt.NDArray[np.float32] = means.astype(np.float32)
    return result


def _dense_sums(X: FeatureMatrix, shard: RowShard) -> tuple[Integers, Integers, Integers]:
    """Return sums and numbers of the finite values of each column; sums are times 2^exponent."""
    largest = np.zeros(X.n_columns)
    for block in X.row_blocks():
        np.maximum(largest, np.abs(np.where(np.isfinite(block), block, 0)).max(axis=0), out=largest)
    exponents = shard.scale_exponents(largest)
    totals, counts = np.zeros((2, X.n_columns), np.int64)
    for block in X.row_blocks():
        finite = np.isfinite(block)
        scaled = np.ldexp(np.where(finite, block, 0).astype(np.float64), exponents)
        totals += scaled.astype(np.int64).sum(axis=0)
        counts += finite.sum(axis=0)
    return totals, counts, exponents


def _sparse_sums(
    X: StoredEntries, shape: tuple[int, int], shard: RowShard
) -> tuple[Integers, Integers, Integers]:
    """Return the same for sparse features; absent entries are counted unless they are missing."""
    n_rows, n_features = shape
    finite = np.isfinite(X.values)
    columns, values = X.columns[finite], X.values[finite].astype(np.float64)
    largest = np.zeros(n_features)
    np.maximum.at(largest, columns, np.abs(values))
    exponents = shard.scale_exponents(largest)
    totals = np.zeros(n_features, np.int64)
    np.add.at(totals, columns, np.ldexp(values, exponents[columns]).astype(np.int64))
    counts = np.bincount(columns, minlength=n_features)
    if not np.isnan(X.absent):
        counts += n_rows - np.bincount(X.columns, minlength=n_features)
    return totals, counts, exponents


def _medians(X: FeatureMatrix) -> npt.NDArray[np.float32]:
    return np.array([_median(column) for _, column in X.each_column()], np.float32)


def _shared_medians(X: FeatureMatrix, shard: RowShard) -> npt.NDArray[np.float32]:
    assert shard.communicator is not None
    fill = np.full(X.n_columns, np.nan, np.float32)
    exchange = RunExchange(X, shard.communicator, fill, frequent=1, finite=True)
    found = np.zeros(X.n_columns)
    for column, middle in exchange.run(lambda _, summary: _Middle(summary)).items():
        found[column] = middle.median()
    # One worker owns each column; all others hold 0 there, so that the sum is its value.
    medians: npt.NDArray[np.float32]
    medians = shard.sum(found.view(np.int64)).view(np.float64).astype(np.float32)
    return medians


class _Middle(RunConsumer):
    """The values of a column on both sides of its median."""

    def __init__(self, summary: ColumnSummary) -> None:
        self._places = [(summary.n_rows - 1) // 2, summary.n_rows // 2]
        self._values: list[np.float32] = []
        self._n_before = 0

    def add(self, keys: Keys, counts: Counts) -> None:
        """Take the runs of a range."""
        keys, counts = ascending(keys, counts)
        ends = self._n_before + np.cumsum(counts)
        for place in self._places:
            if self._n_before <= place < ends[-1]:
                self._values.append(key_values(keys)[np.searchsorted(ends, place, side="right")])
        self._n_before = int(ends[-1])

    def median(self) -> float:
        """Return the median after all ranges; 0 if there is no value."""
        return _median(np.unique(np.array(self._values, np.float32)))


def _median(column: npt.NDArray[np.float32]) -> float:
    finite = column[np.isfinite(column)]
    return float(np.median(finite)) + 0.0 if len(finite) else 0.0  # adding 0 turns -0 into 0
