"""Numpy arrays and scipy sparse matrices, with labels and queries beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankgrove.data.core.dataset import Dataset, as_features
from rankgrove.data.matrix.coded_array import refuse_coded
from rankgrove.data.matrix.dense import DenseMatrix, as_matrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.matrix.sparse import is_mostly_empty, is_sparse
from rankgrove.data.reading.options import LoadOptions, accepted_by
from rankgrove.errors import DataError

ACCEPTS = accepted_by("matrix")


def read_arrays(X: Any, options: LoadOptions, source: str | None = None) -> Dataset:
    """Make a Dataset of a dense or sparse matrix and the arrays given in the options."""
    if options.y is None:
        raise DataError("labels are missing: load(X, y, qid=...)")
    refuse_coded(X)
    sparse = is_sparse(X)
    if options.sparse is not None and not sparse:
        raise ValueError("sparse does not apply to a matrix that is dense")
    if options.absent is not None and not sparse and options.n_features is None:
        raise ValueError("absent does not apply to a matrix that is dense: it has every feature")
    absent = np.nan if options.absent_value == "missing" else 0.0
    features = as_matrix(as_features(X, absent))
    if options.features is not None:
        if len(options.features):
            raise ValueError("features does not name columns of a matrix: use [] for none of them")
        features = features.select_columns([])
    if options.n_features is not None:
        features = padded(features, options.n_features, absent)
    if features.entries is not None and not _stays_sparse(features, options.sparse):
        features = DenseMatrix(features.take_rows(slice(None)))
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


def _stays_sparse(X: FeatureMatrix, wanted: bool | None) -> bool:
    if wanted is not None or X.entries is None:
        return bool(wanted)
    return is_mostly_empty(len(X.entries.values), *X.shape)


def padded(X: FeatureMatrix, n_features: int, fill: float) -> FeatureMatrix:
    """Add columns up to ``n_features``; more columns than that are an error."""
    if X.n_columns > n_features:
        raise DataError(f"X has {X.n_columns} columns, but n_features is {n_features}")
    return X.widened(np.arange(X.n_columns), n_features, fill) if X.n_columns < n_features else X
