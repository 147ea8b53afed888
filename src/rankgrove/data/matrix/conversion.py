"""The columns of a matrix, data frame or Dataset, and whether they are those of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._arrays import addressable
from rankgrove.data.matrix.numbers import as_numbers
from rankgrove.data.matrix.sparse import SparseMatrix, is_sparse
from rankgrove.data.matrix.sparse_frames import is_sparse_frame, sparse_frame_features
from rankgrove.errors import DataError


def is_dataset(value: Any) -> bool:
    """Tell whether the value is a Dataset, without importing the readers."""
    if type(value) is np.ndarray:  # the usual case, and serving asks often
        return False
    return all(hasattr(value, name) for name in ("feature_names", "X", "y", "groups"))


def feature_matrix(X: Any, *, double: bool = False) -> tuple[Any, tuple[str, ...] | None]:
    """Return a two-dimensional floating-point matrix (no copy if it is one) and column names.

    It is an array, or SparseMatrix, whose entries that are not stored are 0 (or NaN, in a Dataset
    that says so). Masked entries and nulls are NaN. Columns of a frame that are not all of one
    float type become float32, or float64 with ``double``.
    """
    names = column_names(X)
    if is_dataset(X):
        X = X.X
        if isinstance(X, SparseMatrix):
            return X, names
    elif is_sparse(X):
        return X if isinstance(X, SparseMatrix) else SparseMatrix.of(X), names
    elif is_sparse_frame(X):
        return sparse_frame_features(X), names
    elif hasattr(X, "iloc"):
        X = _pandas_matrix(X, names, double)
    elif names is not None:
        X = _arrow_matrix(X, names, double)
    matrix = checked_matrix(X)
    if matrix.dtype not in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            matrix = matrix.astype(np.float32)
    return addressable(matrix), names


def checked_matrix(X: Any) -> npt.NDArray[Any]:
    """Return a two-dimensional array of floats, integers or booleans; no copy if it is one."""
    matrix = as_numbers(X, "X")
    if matrix.ndim != 2:
        raise DataError(
            f"X must be a matrix with one row per document, not an array of shape {matrix.shape}. "
            "Reshape your data: X.reshape(1, -1) makes a matrix of one document"
        )
    return matrix


def column_names(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a data frame or Dataset; None for anything else."""
    if is_dataset(X):
        return tuple(str(name) for name in X.feature_names)
    if hasattr(X, "to_frame") and getattr(X, "ndim", 2) == 1:
        raise DataError(
            "X must be a matrix with one row per document, not a single column (a Series): "
            "X.to_frame() makes a frame of one feature"
        )
    columns = getattr(X, "column_names", None)
    if columns is None and hasattr(X, "to_numpy"):
        columns = getattr(X, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def select_columns(X: Any, places: Sequence[int]) -> Any:
    """Return some columns of a matrix, data frame or Dataset; neighbours are not copied."""
    if is_dataset(X):
        X = X.X
    if hasattr(X, "iloc"):
        return X.iloc[:, list(places)]
    if hasattr(X, "select"):
        return X[:, list(places)] if hasattr(X, "lazy") else X.select(list(places))
    first = places[0] if places else 0
    if list(places) == list(range(first, first + len(places))):
        return X[:, first : first + len(places)]
    return X[:, places] if isinstance(X, SparseMatrix) else np.take(X, places, axis=1)


def refuse_other_reading(X: Any, absent: str | None, what: str) -> None:
    """Refuse a Dataset whose absent features were read otherwise than those of the model."""
    refuse_readings(getattr(X, "absent", None) if is_dataset(X) else None, absent, what)


def refuse_readings(own: str | None, absent: str | None, what: str) -> None:
    """Refuse two ways of reading absent features; None is either."""
    if own is not None and absent is not None and own != absent:
        raise DataError(
            f"{what}: features absent from the text were read as {own!r}, but as {absent!r} when "
            f"the model was trained: load the data with absent={absent!r}"
        )


def places_of_names(first: Sequence[str], names: Sequence[str]) -> list[int] | None:
    """Return where the features that came first stand among these; None: in the same order.

    Raises DataError unless they are the same ones: it says how they differ, not whose they are.
    """
    if tuple(names) == tuple(first):
        return None
    place = {name: j for j, name in enumerate(names)}
    lacking = [name for name in first if name not in place]
    added = [name for name in names if name not in set(first)]
    if lacking or added:
        found = [("without", lacking), ("with", added)]
        how = ", ".join(f"{word} {', '.join(map(repr, some[:3]))}" for word, some in found if some)
        raise DataError(f"({how}; features=, or --features, says which to take)")
    return [place[name] for name in first]


def first_number(names: Sequence[str]) -> int | None:
    """Number of the first feature if names only number the features (f1, f2, ...), else None."""
    for first in (0, 1):
        if all(name == f"f{first + i}" for i, name in enumerate(names)):
            return first
    return None


def _float_for(values: npt.NDArray[Any]) -> type[np.floating[Any]]:
    """Return the float type for numbers: float64 if whole ones are too large for float32.

    rankgrove's own models round to float32 all the same; imported ones may compare in float64.
    (Of whole numbers in plain arrays LightGBM itself makes float32.)
    """
    if values.dtype.kind not in "iuf" or values.dtype.itemsize < 4 or not values.size:
        return np.float32
    largest, least = np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)
    return np.float64 if largest > 2**24 or least < -(2**24) else np.float32


def _pandas_matrix(frame: Any, names: tuple[str, ...] | None, double: bool) -> npt.NDArray[Any]:
    if all(isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in frame.dtypes):
        if len(set(frame.dtypes)) == 1 and frame.dtypes.iloc[0].kind == "f":
            return np.asarray(frame.to_numpy())
        columns = [frame.iloc[:, j].to_numpy() for j in range(frame.shape[1])]
        wide = double or any(_float_for(column) is np.float64 for column in columns)
        return np.asarray(frame.to_numpy(dtype=np.float64 if wide else np.float32))
    matrix = np.empty(frame.shape, np.float64 if double else np.float32)
    for j, name in enumerate(names or ()):
        column = frame.iloc[:, j]
        with np.errstate(over="ignore"), advising():
            if getattr(column.dtype, "kind", "O") in "fiub":
                matrix[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                matrix[:, j] = as_numbers(np.asarray(column, object), f"column {name!r} of X")
    return matrix


def _arrow_matrix(frame: Any, names: tuple[str, ...], double: bool) -> npt.NDArray[Any]:
    """Take a polars or pyarrow table, or another that speaks Arrow."""
    from rankgrove.data.reading.arrow import as_arrow
    from rankgrove.data.reading.arrow_columns import write_feature

    table = as_arrow(frame)
    shape = table.num_rows, len(names)
    matrix: npt.NDArray[Any] = np.empty(shape, np.float64 if double else np.float32)
    for j, name in enumerate(names):
        column = table.column(j)
        refuse_other_columns(column, name)
        start = 0
        for chunk in column.chunks:
            write_feature(matrix[start : start + len(chunk), j], chunk, name)
            start += len(chunk)
    return matrix


def refuse_other_columns(column: Any, name: str) -> None:
    """Refuse a column of an Arrow table that holds no numbers."""
    from rankgrove.data.reading.arrow_columns import holds_numbers

    with advising():
        if not holds_numbers(column.type):
            values = column.drop_null().slice(0, 1).to_pylist()
            held = f"{values[0]!r:.60}" if values else f"values of type {column.type}"
            raise DataError(f"column {name!r} of X holds {held}, which is not a number")


@contextmanager
def advising() -> Iterator[None]:
    """Add to an error about a column how to give features."""
    try:
        yield
    except DataError as error:
        raise DataError(
            f"{error}: give the features alone, or rankgrove.load(frame), which knows labels, "
            "queries and document ids"
        ) from None
