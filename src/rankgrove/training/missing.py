"""Fill values: what replaces a missing value (NaN) in each column.

A policy becomes a vector of one fill value per feature, computed on the training data and kept with
the model; binning and scoring read NaN as that value. The matrix itself is never changed.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.sparse import SparseMatrix, each_column
from rankgrove.data.matrix.streamed import StreamedMatrix, column_blocks, remembered, row_blocks
from rankgrove.workers.column_exchange import whole_columns
from rankgrove.workers.row_shard import Integers, RowShard

MissingPolicy = Literal["keep", "zero", "mean", "median", "inf"]


def fill_values(X: Any, policy: str, shard: RowShard | None = None) -> npt.NDArray[np.float32]:
    """Return the value that replaces NaN in each column of X.

    Parameters
    ----------
    X : training data: an array or SparseMatrix
    shard : position of X among the rows of all workers; None: it holds all rows
    policy : ``"keep"`` (NaN: each split learns where missing values go), ``"zero"``, ``"mean"`` or
        ``"median"`` of the finite values of the column (0 if there are none), ``"inf"`` (+infinity)
    """
    n_features = X.shape[1]
    if policy == "keep":
        return np.full(n_features, np.nan, np.float32)
    if policy == "zero":
        return np.zeros(n_features, np.float32)
    if policy == "inf":
        return np.full(n_features, np.inf, np.float32)
    if policy == "mean":
        whole = shard or RowShard(len(X), 0)
        return remembered(X, "mean", lambda: {"mean": _column_means(X, whole)})["mean"]
    if policy == "median":
        if shard is not None and not shard.single_worker:
            return _shared_medians(X, shard)
        return remembered(X, "median", lambda: {"median": _medians(X)})["median"]
    raise ValueError(
        f"missing must be one of {', '.join(map(repr, get_args(MissingPolicy)))}, not {policy!r}"
    )


def _column_means(X: Any, shard: RowShard) -> npt.NDArray[np.float32]:
    """Return column means of the finite values, by integer sums: the same for any shards."""
    sums = _sparse_sums if isinstance(X, SparseMatrix) else _dense_sums
    totals, counts, exponents = sums(X, shard)
    totals, counts = shard.sum([totals, counts])
    means = np.ldexp(totals.astype(np.float64), -exponents) / np.maximum(counts, 1)
    result: npt.NDArray[np.float32] = means.astype(np.float32)
    return result


def _dense_sums(X: Any, shard: RowShard) -> tuple[Integers, Integers, Integers]:
    """Return sums and numbers of the finite values of each column; sums are times 2^exponent."""
    largest = np.zeros(X.shape[1])
    for block in row_blocks(X):
        np.maximum(largest, np.abs(np.where(np.isfinite(block), block, 0)).max(axis=0), out=largest)
    exponents = shard.scale_exponents(largest)
    totals, counts = np.zeros((2, X.shape[1]), np.int64)
    for block in row_blocks(X):
        finite = np.isfinite(block)
        scaled = np.ldexp(np.where(finite, block, 0).astype(np.float64), exponents)
        totals += scaled.astype(np.int64).sum(axis=0)
        counts += finite.sum(axis=0)
    return totals, counts, exponents


def _sparse_sums(X: SparseMatrix, shard: RowShard) -> tuple[Integers, Integers, Integers]:
    """Return the same for sparse features; absent entries are counted unless they are missing."""
    finite = np.isfinite(X.values)
    columns, values = X.columns[finite], X.values[finite].astype(np.float64)
    largest = np.zeros(X.n_features)
    np.maximum.at(largest, columns, np.abs(values))
    exponents = shard.scale_exponents(largest)
    totals = np.zeros(X.n_features, np.int64)
    np.add.at(totals, columns, np.ldexp(values, exponents[columns]).astype(np.int64))
    counts = np.bincount(columns, minlength=X.n_features)
    if not np.isnan(X.absent):
        counts += len(X) - np.bincount(X.columns, minlength=X.n_features)
    return totals, counts, exponents


def _medians(X: Any) -> npt.NDArray[np.float32]:
    if isinstance(X, StreamedMatrix):
        medians = [_median(column) for _, block in column_blocks(X) for column in block.T]
    else:
        medians = [_median(column) for _, column in each_column(X, range(X.shape[1]))]
    return np.array(medians, np.float32)


def _shared_medians(X: Any, shard: RowShard) -> npt.NDArray[np.float32]:
    found = np.zeros(X.shape[1])
    for own, columns in whole_columns(X, shard):
        found[own] = _medians(columns)
    # One worker owns each column; all others hold 0 there, so that the sum is its value.
    medians: npt.NDArray[np.float32]
    medians = shard.sum(found.view(np.int64)).view(np.float64).astype(np.float32)
    return medians


def _median(column: npt.NDArray[np.float32]) -> float:
    finite = column[np.isfinite(column)]
    return float(np.median(finite)) + 0.0 if len(finite) else 0.0  # which makes 0 of -0
