"""Numpy arrays and scipy sparse matrices, with labels and queries beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.dataset import Dataset, as_features
from rankgrove.data.matrix.sparse import SparseMatrix, is_sparse, worth_keeping
from rankgrove.data.reading.options import LoadOptions, accepted_by
from rankgrove.errors import DataError

ACCEPTS = accepted_by("matrix")


def read_arrays(X: Any, options: LoadOptions, source: str | None = None) -> Dataset:
    """Make a Dataset of a dense or sparse matrix and the arrays given in the options."""
    if options.y is None:
        raise DataError("labels are missing: load(X, y, qid=...)")
    sparse = is_sparse(X)
    if options.sparse is not None and not sparse:
        raise ValueError("sparse does not apply to a matrix that is dense")
    if options.absent is not None and not sparse and options.n_features is None:
        raise ValueError("absent does not apply to a matrix that is dense: it has every feature")
    absent = np.nan if options.absent_value == "missing" else 0.0
    features = as_features(X, absent)
    if options.features is not None:
        if len(options.features):
            raise ValueError("features does not name columns of a matrix: use [] for none of them")
        features = features[:, :0]
    if options.n_features is not None:
        features = padded(features, options.n_features, absent)
    if isinstance(features, SparseMatrix) and not _stays_sparse(features, options.sparse):
        features = features.toarray()
    return Dataset(
        features,
        options.y,
        options.qid,
        group_sizes=options.group_sizes,
        feature_names=options.feature_names,
        sample_weight=options.sample_weight,
        doc_ids=options.doc_ids,
        absent=options.absent_value if sparse else None,
        source=source,
    )


def _stays_sparse(X: SparseMatrix, wanted: bool | None) -> bool:
    return worth_keeping(X.n_stored, *X.shape) if wanted is None else wanted


def padded(
    X: npt.NDArray[np.float32] | SparseMatrix, n_features: int, fill: float
) -> npt.NDArray[np.float32] | SparseMatrix:
    """Add columns up to ``n_features``; more columns than that are an error."""
    n_rows, n_columns = X.shape
    if n_columns == n_features:
        return X
    if n_columns > n_features:
        raise DataError(f"X has {n_columns} columns, but n_features is {n_features}")
    if isinstance(X, SparseMatrix):
        return replace(X, n_features=n_features)
    wider = np.full((n_rows, n_features), fill, np.float32)
    wider[:, :n_columns] = X
    return wider
