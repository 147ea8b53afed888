"""Conversion of whatever holds features (array, sparse matrix, data frame) to a FeatureMatrix.

This is the one place that knows foreign types. ``convert`` makes a matrix of float32 or float64 for
scoring, ``in_place`` one that reads the caller's memory for training.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._arrays import addressable, is_addressable
from rankgrove.data.core.categories import selected
from rankgrove.data.matrix.arrow_tables import (
    as_arrow,
    holds_numbers,
    table_column_names,
    without_dictionary,
    write_feature,
)
from rankgrove.data.matrix.coded_array import refuse_coded
from rankgrove.data.matrix.coded_columns import (
    CodedColumn,
    coded_arrow,
    coded_values,
    is_category_type,
)
from rankgrove.data.matrix.dense import (
    CallerMatrix,
    DenseMatrix,
    LazyColumn,
    neighbouring_columns,
)
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.matrix.numbers import as_numbers, is_masked_array
from rankgrove.data.matrix.object_columns import arrow_column
from rankgrove.data.matrix.sparse import SparseMatrix, is_sparse
from rankgrove.data.matrix.sparse_frames import is_sparse_frame, sparse_frame_features
from rankgrove.errors import DataError

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_READ_BY_KERNELS = {np.dtype(kind) for kind in "?bhilqBHILQfd"}

Part = npt.NDArray[Any] | LazyColumn


def convert(
    X: Any, *, double: bool = False, categorical: Collection[int] | None = None
) -> FeatureMatrix:
    """Return a matrix of float32 or float64, without a copy if X is one, with its column names.

    It is dense, or sparse if X is; entries that are not stored are 0. Masked entries and nulls are
    NaN. Columns of a frame that are not all of one float type become float32, or float64 with
    ``double``.

    ``categorical`` are the numbers of columns whose values are categories (None: those whose type
    says so): they become codes, and the matrix has their dictionaries. What is a matrix or an array
    of numbers is returned as it is.
    """
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype in _FLOATS:  # the usual case in serving
        return DenseMatrix(addressable(X))
    if isinstance(X, FeatureMatrix):
        return X
    refuse_coded(X)
    names = column_names(X)
    coded = categorical_columns(X, categorical)
    if coded:
        return _convert_coded(X, names, coded, double)
    if is_sparse(X):
        return SparseMatrix.of(X)
    if is_sparse_frame(X):
        return replace(sparse_frame_features(X), names=names)
    if hasattr(X, "iloc"):
        X = _pandas_matrix(X, names, double)
    elif names is not None:
        X = _arrow_matrix(X, names, double)
    matrix = checked_array(X)
    if matrix.dtype not in _FLOATS:
        with np.errstate(over="ignore"):
            matrix = matrix.astype(np.float32)
    return DenseMatrix(addressable(matrix), names)


def _convert_coded(
    X: Any, names: tuple[str, ...] | None, coded: Collection[int], double: bool
) -> FeatureMatrix:
    """Convert a frame or an array of objects with categorical columns."""
    if names is None and not isinstance(X, np.ndarray):  # lists of texts and numbers
        X = np.array(X, dtype=object)
    n_rows, n_columns = X.shape if hasattr(X, "shape") else np.shape(X)
    all_names = names or tuple(f"{j}" for j in range(n_columns))
    rest = [j for j in range(n_columns) if j not in coded]
    values = np.empty((n_rows, n_columns), np.float64 if double else np.float32)
    if rest:
        others = convert(take_columns(X, rest), double=double, categorical=())
        with np.errstate(over="ignore"):
            values[:, rest] = others.to_array("a matrix with categorical columns")
    columns = {j: coded_column(X, j, all_names[j]) for j in sorted(coded)}
    for j, column in columns.items():
        values[:, j] = column.codes
    return DenseMatrix(values, names, {j: one.categories for j, one in columns.items()})


def categorical_columns(X: Any, wanted: Collection[int] | None) -> Collection[int]:
    """Return the numbers of the categorical columns of X (not a FeatureMatrix).

    Those of a frame are all that are wanted (None: those whose type says so). An array of numbers
    has none: its numbers are coded when they are matched to a model's.
    """
    if type(X) is np.ndarray and X.dtype.kind not in "OUS":
        return ()
    if isinstance(X, FeatureMatrix) or is_sparse(X):
        return ()
    if hasattr(X, "iloc") and np.ndim(X) == 2:
        found = [j for j, dtype in enumerate(X.dtypes) if is_category_type(dtype)]
    elif column_names(X) is not None:
        found = [j for j, kind in enumerate(as_arrow(X).schema.types) if is_category_type(kind)]
    else:
        try:
            array = np.asarray(X)
        except ValueError:  # rows of different lengths, which ``checked_array`` refuses
            return ()
        return wanted or () if array.ndim == 2 and array.dtype.kind in "OUS" else ()
    return found if wanted is None else wanted


def coded_column(X: Any, j: int, name: str) -> CodedColumn:
    """Code one column of a frame or array."""
    if hasattr(X, "iloc"):
        return coded_arrow(arrow_column(X.iloc[:, j], name), name)
    if column_names(X) is not None:
        return coded_arrow(as_arrow(X).column(j), name)
    return coded_values(np.asarray(X)[:, j], name, untyped=True)


def in_place(
    X: Any, places: Sequence[int] | None = None, *, categorical: Collection[int] | None = None
) -> FeatureMatrix:
    """Return X, or some of its columns, as a float32 matrix that reads the memory of X.

    Numbers of other types are rounded to float32 when they are read. What is no number is refused,
    unless its column (by its number in the result) is ``categorical``: see ``convert``.
    """
    if is_sparse(X):
        sparse = SparseMatrix.of(X)
        return (sparse if places is None else sparse.select_columns(places)).astype(np.float32)
    if isinstance(X, FeatureMatrix):
        wanted = range(X.n_columns) if places is None else places
        matrix = in_place_array(X.to_array(), X.names, places)
        return matrix.with_categories(selected(X.categories, wanted))
    refuse_coded(X)
    names = column_names(X)
    chosen = X if places is None else take_columns(X, places)
    coded = categorical_columns(chosen, categorical)
    if coded:
        return _in_place_coded(chosen, coded)
    if is_sparse_frame(X):
        sparse = replace(sparse_frame_features(chosen), names=column_names(chosen))
        return sparse.astype(np.float32)
    if hasattr(X, "iloc"):
        names = names or ()
        wanted = range(len(names)) if places is None else places
        parts = [_pandas_part(X.iloc[:, j], names[j]) for j in wanted]
        return CallerMatrix(tuple(parts), len(X), names=tuple(names[j] for j in wanted))
    if names is not None:
        return _arrow_in_place(X if places is None else take_columns(X, places))
    if is_masked_array(X) and np.ma.is_masked(X) and X.ndim == 2 and X.dtype.kind in "fiub":
        wanted = range(X.shape[1]) if places is None else places
        return CallerMatrix(tuple(LazyColumn(_unmasked(X[:, j])) for j in wanted), len(X))
    return in_place_array(checked_array(X), None, places)


def _in_place_coded(X: Any, coded: Collection[int]) -> FeatureMatrix:
    """Wrap a frame with coded columns; the other columns are read in place."""
    names = column_names(X)
    if names is None:
        return convert(X, categorical=coded)
    parts: list[Part] = []
    categories = {}
    table = None if hasattr(X, "iloc") else as_arrow(X)
    for j, name in enumerate(names):
        if j in coded:
            column = coded_column(X, j, name)
            parts.append(column.codes[:, None])
            categories[j] = column.categories
        elif table is None:
            parts.append(_pandas_part(X.iloc[:, j], name))
        else:
            parts.append(_arrow_part(table.column(j), name))
    n_rows = len(X) if table is None else table.num_rows
    return CallerMatrix(tuple(parts), n_rows, names=names, categories=categories)


def in_place_array(
    array: npt.NDArray[Any], names: tuple[str, ...] | None, places: Sequence[int] | None
) -> FeatureMatrix:
    """Return an array of numbers, or some of its columns, as a matrix that reads its memory."""
    if places is None and array.dtype == np.float32 and is_addressable(array):
        return DenseMatrix(array, names)
    columns = [array] if places is None else neighbouring_columns(array, places)
    if names is not None and places is not None:
        names = tuple(names[place] for place in places)
    parts = tuple(part for one in columns for part in _array_parts(one))
    return CallerMatrix(parts, len(array), names=names)


def checked_array(X: Any) -> npt.NDArray[Any]:
    """Return a two-dimensional array of floats, integers or booleans; no copy if it is one."""
    if isinstance(X, Mapping) or getattr(getattr(X, "dtype", None), "names", None):
        raise DataError(
            "X must be a matrix or a data frame, not a dict of columns or an array of records: "
            "pandas.DataFrame(X) makes a frame of it"
        )
    matrix = as_numbers(X, "X")
    if matrix.ndim != 2:
        raise DataError(
            f"X must be a matrix with one row per document, not an array of shape {matrix.shape}. "
            "Reshape your data: X.reshape(1, -1) makes a matrix of one document"
        )
    return matrix


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a matrix or data frame; None if it has none."""
    if type(X) is np.ndarray:
        return None
    if isinstance(X, FeatureMatrix):
        return X.names
    return table_column_names(X)


def take_columns(X: Any, places: Sequence[int]) -> Any:
    """Return some columns of a matrix or data frame; neighbours are not copied."""
    if isinstance(X, FeatureMatrix):
        return X.select_columns(places)
    if hasattr(X, "iloc"):
        return X.iloc[:, list(places)]
    if hasattr(X, "select"):
        return X[:, list(places)] if hasattr(X, "lazy") else X.select(list(places))
    return DenseMatrix(X).select_columns(places).values


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
    """Convert a polars or pyarrow table, or another with an Arrow interface."""
    table = as_arrow(frame)
    shape = table.num_rows, len(names)
    matrix: npt.NDArray[Any] = np.empty(shape, np.float64 if double else np.float32)
    for j, name in enumerate(names):
        column = without_dictionary(table.column(j))
        refuse_other_columns(column, name)
        start = 0
        for chunk in column.chunks:
            write_feature(matrix[start : start + len(chunk), j], chunk, name)
            start += len(chunk)
    return matrix


ENCODING_ADVICE = (
    "columns of categories are taken as they are by rankgrove.load(frame, categorical=[names]), or "
    "with a type that says so: frame.astype({name: 'category'})"
)

# Package -> the method that brings its frames into memory.
_CLUSTER_FRAMES = {
    "dask": "compute()",
    "dask_expr": "compute()",
    "ray": "to_pandas()",
    "pyspark": "toPandas()",
}

# Package -> the names of its data sets, whose rows only it reads.
_PEER_DATA = {
    "lightgbm": ("Dataset",),
    "xgboost": ("DMatrix", "QuantileDMatrix", "ExtMemQuantileDMatrix"),
    "catboost": ("Pool",),
}


def refuse_absent_rows(X: Any, what: str) -> None:
    """Refuse data without rows in memory: of Dask, Ray, Spark or another learner, or lazy."""
    package, kind = type(X).__module__.split(".")[0], type(X).__name__
    if kind in _PEER_DATA.get(package, ()):
        raise DataError(
            f"{what}: X is a {package}.{kind}, which {package} alone reads: give what it was made "
            "of, with qid= or group_sizes="
        )
    if package == "polars" and kind == "LazyFrame":
        raise DataError(f"{what}: X is a polars LazyFrame: X.collect() brings it into memory")
    if package in _CLUSTER_FRAMES and kind.endswith(("DataFrame", "Dataset")):
        raise DataError(
            f"{what}: X is a {package} {kind}, whose rows are on a cluster: "
            "rankgrove.distributed.fit and rankgrove.distributed.predict take it as it is, "
            f"X.{_CLUSTER_FRAMES[package]} brings it into memory"
        )


def refuse_other_columns(column: Any, name: str) -> None:
    """Refuse a column of an Arrow table that holds no numbers."""
    with advising():
        if not holds_numbers(column.type):
            values = column.drop_null().slice(0, 1).to_pylist()
            held = f"{values[0]!r:.60}" if values else f"values of type {column.type}"
            raise DataError(f"column {name!r} of X holds {held}, which is not a number")


@contextmanager
def advising() -> Iterator[None]:
    """Context that adds advice on passing features to errors about a column."""
    try:
        yield
    except DataError as error:
        raise DataError(
            f"{error}: give the features alone, or rankgrove.load(frame), which knows labels, "
            f"queries and document ids; {ENCODING_ADVICE}"
        ) from None


def _array_parts(array: npt.NDArray[Any]) -> list[Part]:
    if array.dtype in _READ_BY_KERNELS and is_addressable(array):
        return [array]
    return [LazyColumn(_rounded(array[:, j])) for j in range(array.shape[1])]


def _rounded(column: npt.NDArray[Any]) -> Callable[[Any], npt.NDArray[np.float32]]:
    def compute(rows: Any) -> npt.NDArray[np.float32]:
        with np.errstate(over="ignore"):
            return np.require(column[rows], np.float32, ["C", "A"])

    return compute


def _unmasked(column: Any) -> Callable[[Any], npt.NDArray[Any]]:
    """Return a reader of a column of a masked array; masked entries are NaN."""
    float_type = np.float64 if column.dtype.kind in "iub" else np.float32

    def compute(rows: Any) -> npt.NDArray[Any]:
        with np.errstate(over="ignore"):
            return np.asarray(column[rows].astype(float_type).filled(np.nan))

    return compute


def _pandas_part(column: Any, name: str) -> Part:
    """Return a column of a pandas frame; 64-bit integers are converted through float64."""
    kind = getattr(column.dtype, "kind", "O")
    if kind not in "fiub":
        with advising():
            return as_numbers(np.asarray(column, object), f"column {name!r} of X")[:, None]
    if isinstance(column.dtype, np.dtype) and not (kind in "iu" and column.dtype.itemsize == 8):
        return _array_parts(column.to_numpy()[:, None])[0]
    return LazyColumn(lambda rows: column.iloc[rows].to_numpy(dtype=np.float64, na_value=np.nan))


def _arrow_in_place(frame: Any) -> CallerMatrix:
    table = as_arrow(frame)
    parts = [_arrow_part(table.column(j), name) for j, name in enumerate(table.column_names)]
    return CallerMatrix(tuple(parts), table.num_rows, names=tuple(table.column_names))


def _arrow_part(column: Any, name: str) -> Part:
    import pyarrow as pa

    column = without_dictionary(column)
    refuse_other_columns(column, name)

    def compute(rows: Any) -> npt.NDArray[np.float32]:
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
    return LazyColumn(compute)
