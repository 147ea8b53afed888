"""Feature matrices of any kind, taken as they lie in the caller's memory.

What ``feature_matrix`` converts, for code that knows arrays alone, is here only described: a fit
reads each value where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._arrays import is_addressable
from rankgrove.data.matrix.caller_matrix import CallerMatrix, LazyColumn, selected
from rankgrove.data.matrix.conversion import (
    advising,
    checked_matrix,
    column_names,
    is_dataset,
    refuse_other_columns,
    select_columns,
)
from rankgrove.data.matrix.numbers import as_numbers
from rankgrove.data.matrix.sparse import SparseMatrix, is_sparse
from rankgrove.data.matrix.sparse_frames import is_sparse_frame, sparse_frame_features

_READ_BY_KERNELS = {np.dtype(kind) for kind in "?bhilqBHILQfd"}

Part = npt.NDArray[Any] | LazyColumn


def features_in_place(X: Any, places: Sequence[int] | None = None) -> Any:
    """Return a float32 matrix of X, or of some of its columns, that shares the memory of X.

    It is an array (if X is one of float32), SparseMatrix or a CallerMatrix, which rounds to
    float32 what it reads. What is no number is refused.
    """
    if is_dataset(X):
        X = X.X
    if is_sparse(X):
        X = X if isinstance(X, SparseMatrix) else SparseMatrix.of(X)
        return (X if places is None else select_columns(X, places)).astype(np.float32)
    if is_sparse_frame(X):
        chosen = X if places is None else select_columns(X, places)
        return sparse_frame_features(chosen).astype(np.float32)
    names = column_names(X)
    if hasattr(X, "iloc"):
        names = names or ()
        wanted = range(len(names)) if places is None else places
        parts = [_pandas_part(X.iloc[:, j], names[j]) for j in wanted]
        return CallerMatrix(tuple(parts), len(X))
    if names is not None:
        return _arrow_features(X if places is None else select_columns(X, places))
    if np.ma.is_masked(X) and X.ndim == 2 and X.dtype.kind in "fiub":
        wanted = range(X.shape[1]) if places is None else places
        return CallerMatrix(tuple(LazyColumn(_unmasked(X[:, j])) for j in wanted), len(X))
    matrix = checked_matrix(X)
    if places is None and matrix.dtype == np.float32 and is_addressable(matrix):
        return matrix
    columns = [matrix] if places is None else selected(matrix, places)
    return CallerMatrix(tuple(part for one in columns for part in _array_parts(one)), len(matrix))


def _array_parts(array: npt.NDArray[Any]) -> list[Part]:
    if array.dtype in _READ_BY_KERNELS and is_addressable(array):
        return [array]
    return [LazyColumn(_rounded(array[:, j])) for j in range(array.shape[1])]


def _rounded(column: npt.NDArray[Any]) -> Callable[[Any], npt.NDArray[np.float32]]:
    def make(rows: Any) -> npt.NDArray[np.float32]:
        with np.errstate(over="ignore"):
            return np.require(column[rows], np.float32, ["C", "A"])

    return make


def _unmasked(column: Any) -> Callable[[Any], npt.NDArray[Any]]:
    """Read a column of a masked array; what is masked is NaN."""
    float_type = np.float64 if column.dtype.kind in "iub" else np.float32

    def make(rows: Any) -> npt.NDArray[Any]:
        with np.errstate(over="ignore"):
            return np.asarray(column[rows].astype(float_type).filled(np.nan))

    return make


def _pandas_part(column: Any, name: str) -> Part:
    """Take a column of a pandas frame; whole numbers of 64 bits go by way of float64."""
    kind = getattr(column.dtype, "kind", "O")
    if kind not in "fiub":
        with advising():
            return as_numbers(np.asarray(column, object), f"column {name!r} of X")[:, None]
    if isinstance(column.dtype, np.dtype) and not (kind in "iu" and column.dtype.itemsize == 8):
        return _array_parts(column.to_numpy()[:, None])[0]
    return LazyColumn(lambda rows: column.iloc[rows].to_numpy(dtype=np.float64, na_value=np.nan))


def _arrow_features(frame: Any) -> CallerMatrix:
    from rankgrove.data.reading.arrow import as_arrow

    table = as_arrow(frame)
    parts = [_arrow_part(table.column(j), name) for j, name in enumerate(table.column_names)]
    return CallerMatrix(tuple(parts), table.num_rows)


def _arrow_part(column: Any, name: str) -> Part:
    import pyarrow as pa

    from rankgrove.data.reading.arrow_columns import write_feature

    refuse_other_columns(column, name)

    def make(rows: Any) -> npt.NDArray[np.float32]:
        if isinstance(rows, slice):
            begin, end, _ = rows.indices(len(column))
            some = column.slice(begin, end - begin)
        else:
            some = column.take(pa.array(rows))
        result = np.empty(len(some), np.float32)
        start = 0
        for chunk in some.chunks:
            write_feature(result[start : start + len(chunk)], chunk, name)
            start += len(chunk)
        return result

    plain = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    if plain and column.num_chunks == 1 and column.null_count == 0:
        return _array_parts(column.chunk(0).to_numpy(zero_copy_only=True)[:, None])[0]
    return LazyColumn(make)
