"""Pandas frames of sparse columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankgrove.data.matrix.sparse import SparseMatrix


def is_sparse_frame(X: Any) -> bool:
    """Return whether all columns are sparse numbers with the same fill value, 0 or NaN.

    Frames that are sparse in part are read column by column, as dense ones are.
    """
    dtypes = list(X.dtypes) if hasattr(X, "iloc") and np.ndim(X) == 2 else []
    if not dtypes or not all(type(dtype).__name__ == "SparseDtype" for dtype in dtypes):
        return False
    if not all(dtype.subtype.kind in "fiub" for dtype in dtypes):
        return False
    fills = np.array([dtype.fill_value for dtype in dtypes], np.float64)
    return bool((fills == 0).all() or np.isnan(fills).all())


def sparse_frame_features(frame: Any) -> SparseMatrix:
    """Return the features of a frame that ``is_sparse_frame``."""
    from scipy.sparse import csc_array

    columns = [frame.iloc[:, j].array for j in range(frame.shape[1])]
    stored = [column.sp_index.to_int_index().indices for column in columns]
    starts = np.r_[0, np.cumsum([len(rows) for rows in stored])]
    values = np.concatenate([np.asarray(column.sp_values) for column in columns])
    absent = np.nan if np.isnan(float(columns[0].fill_value)) else 0.0
    matrix = csc_array((values, np.concatenate(stored), starts), shape=frame.shape)
    return SparseMatrix.of(matrix, absent)
