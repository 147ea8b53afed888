"""What stands in for a missing value (NaN).

A policy becomes a vector of one fill value per feature, computed on the training data and kept with
the model; binning and scoring read NaN as that value. The matrix itself is never changed.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from rankgrove.data.sparse import SparseFeatures, each_column

MissingPolicy = Literal["keep", "zero", "mean", "median", "inf"]
_BLOCK_ROWS = 65536


def fill_values(X: Any, policy: str) -> npt.NDArray[np.float32]:
    """Value that replaces NaN in each column of X.

    Parameters
    ----------
    X : training data: an array or SparseFeatures
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
        return _column_means(X)
    if policy == "median":
        columns = each_column(X, range(n_features))
        return np.array([_median(column) for _, column in columns], np.float32)
    raise ValueError(
        f"missing must be one of {', '.join(map(repr, get_args(MissingPolicy)))}, not {policy!r}"
    )


def _column_means(X: Any) -> npt.NDArray[np.float32]:
    if isinstance(X, SparseFeatures) and X.n_features > 1:
        return _sparse_means(X)
    X = np.asarray(X)
    sums = np.zeros(X.shape[1])
    counts = np.zeros(X.shape[1], np.int64)
    for start in range(0, len(X), _BLOCK_ROWS):
        block = X[start : start + _BLOCK_ROWS]
        finite = np.isfinite(block)
        sums += np.where(finite, block, 0).sum(axis=0, dtype=np.float64)
        counts += finite.sum(axis=0)
    return (sums / np.maximum(counts, 1)).astype(np.float32)


def _sparse_means(X: SparseFeatures) -> npt.NDArray[np.float32]:
    """Return the means by the same additions: those of zeros change nothing."""
    sums = np.zeros(X.n_features)
    counts = np.full(X.n_features, 0 if np.isnan(X.absent) else len(X), np.int64)
    for start in range(0, len(X), _BLOCK_ROWS):
        first, last = X.starts[start], X.starts[min(start + _BLOCK_ROWS, len(X))]
        columns, values = X.columns[first:last], X.values[first:last]
        finite = np.isfinite(values)
        sums += np.bincount(columns[finite], values[finite], X.n_features)
        counts += np.bincount(columns[finite], minlength=X.n_features)
        if not np.isnan(X.absent):
            counts -= np.bincount(columns, minlength=X.n_features)
    return (sums / np.maximum(counts, 1)).astype(np.float32)


def _median(column: npt.NDArray[np.float32]) -> float:
    finite = column[np.isfinite(column)]
    return float(np.median(finite)) if len(finite) else 0.0
