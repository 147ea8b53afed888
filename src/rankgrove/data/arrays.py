"""Numpy arrays and scipy sparse matrices, with labels and queries beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.dataset import Dataset, as_feature_matrix
from rankgrove.data.options import LoadOptions
from rankgrove.errors import DataError

ACCEPTS = frozenset(
    {"y", "qid", "group_sizes", "sample_weight", "doc_ids"}
    | {"feature_names", "features", "absent", "n_features", "negative_labels"}
)


def read_arrays(X: Any, options: LoadOptions, source: str | None = None) -> Dataset:
    """Make a Dataset of a dense or sparse matrix and the arrays given in the options."""
    if options.y is None:
        raise DataError("labels are missing: load(X, y, qid=...)")
    sparse = hasattr(X, "tocoo")
    absent_is_nan = options.absent == "missing"
    X = dense_matrix(X, absent_is_nan)
    if options.features is not None:
        if len(options.features):
            raise ValueError("features does not name columns of a matrix: use [] for none of them")
        X = X[:, :0]
    if options.n_features is not None:
        X = padded(X, options.n_features, np.nan if absent_is_nan else 0.0)
    return Dataset(
        X,
        options.y,
        options.qid,
        group_sizes=options.group_sizes,
        feature_names=options.feature_names,
        sample_weight=options.sample_weight,
        doc_ids=options.doc_ids,
        absent=options.absent if sparse else None,
        source=source,
    )


def dense_matrix(X: Any, absent_is_nan: bool) -> npt.NDArray[np.float32]:
    """Turn a dense or sparse matrix into float32; entries not stored become 0 or NaN."""
    if not hasattr(X, "tocoo"):
        matrix: npt.NDArray[np.float32] = as_feature_matrix(X)
        return matrix
    if X.dtype.kind not in "fiub":
        raise DataError(f"X must hold numbers, not {X.dtype}")
    entries = X.tocsr(copy=True) if absent_is_nan else X.tocsr()
    if not entries.has_canonical_format:
        entries = entries.copy()
        entries.sum_duplicates()
    values = as_feature_matrix(entries.data.reshape(1, -1))[0]
    dense = np.full(X.shape, np.nan if absent_is_nan else 0.0, np.float32)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(entries.indptr))
    dense[rows, entries.indices] = values
    return dense


def padded(X: npt.NDArray[np.float32], n_features: int, fill: float) -> npt.NDArray[np.float32]:
    """Add columns up to ``n_features``; more columns than that are an error."""
    n_rows, n_columns = X.shape
    if n_columns == n_features:
        return X
    if n_columns > n_features:
        raise DataError(f"X has {n_columns} columns, but n_features is {n_features}")
    wider = np.full((n_rows, n_features), fill, np.float32)
    wider[:, :n_columns] = X
    return wider
