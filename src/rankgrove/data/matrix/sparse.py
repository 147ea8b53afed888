"""Sparse feature matrices: each row stores some entries; all others have the same value.

What scipy calls CSR, with one thing more: entries that are not stored are 0, or missing (NaN) if
the data say so. It means the same as the dense matrix and is never made dense as a whole, except by
``to_array``, for code that knows only arrays: that works up to ``MAX_DENSE_BYTES`` and is refused
above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.categories import CategoriesByColumn, selected
from rankgrove.data.matrix.dense import DenseMatrix, array_key
from rankgrove.data.matrix.feature_matrix import (
    Array,
    ColumnMap,
    FeatureMatrix,
    KernelColumns,
    RowNumbers,
    StoredEntries,
)
from rankgrove.errors import DataError

# The largest dense matrix that is made of a sparse one where an array is needed.
MAX_DENSE_BYTES = 1 << 30
# A block of rows that is made dense to be scored.
_BLOCK_BYTES = 16 << 20
# Columns from which, and the share of filled entries up to which, loaded data stay sparse.
_WIDE = 1000
_MOST_FILLED = 0.05


def is_mostly_empty(n_stored: int, n_rows: int, n_features: int) -> bool:
    """Return whether a matrix is wide and mostly empty, so that ``load`` keeps it sparse."""
    return n_features >= _WIDE and n_stored <= _MOST_FILLED * n_rows * n_features


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix of scipy, without importing it."""
    return hasattr(X, "tocsr") and hasattr(X, "shape")


@dataclass(frozen=True, eq=False)
class SparseMatrix(FeatureMatrix):
    """A checked sparse matrix; it shares the memory of the one it was made of where it can.

    Attributes
    ----------
    starts : int64, where each row's entries begin, and where the last one's end
    columns : int32 column of each entry, ascending within a row
    values : float32 or float64 value of each entry
    n_features : number of columns
    absent : what entries that are not stored are: 0 or NaN
    names : names of the columns
    categories : dictionaries of categorical columns, in which ``absent`` is a code like others
    """

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    n_features: int
    absent: float = 0.0
    names: tuple[str, ...] | None = None
    categories: CategoriesByColumn = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, absent: float = 0.0) -> SparseMatrix:
        """Check a sparse matrix of scipy, of any format; it is not changed.

        Entries that are given twice are added up, as scipy does. A SparseMatrix is returned
        unchanged.
        """
        if isinstance(X, cls):
            return X
        if X.ndim != 2:
            raise DataError(f"X must be a matrix with one row per document, not of shape {X.shape}")
        if X.dtype.kind not in "fiub":
            complex_too = "Complex data not supported: " if X.dtype.kind == "c" else ""
            raise DataError(f"{complex_too}X must hold numbers, not {X.dtype}")
        n_rows, n_features = (int(n) for n in X.shape)
        if n_features >= 2**31:
            raise DataError(f"X has {n_features} columns: there may be 2^31 - 1")
        if X.format == "csc":
            _checked(X.indptr, X.indices, n_features, n_rows, "column")
        elif X.format == "bsr":
            height, width = X.blocksize
            _checked(X.indptr, X.indices, n_rows // height, n_features // width, "block row")
        if X.format != "csr":
            X = X.tocsr()
        starts, columns, ascending = _checked(X.indptr, X.indices, n_rows, n_features, "row")
        values = X.data[: starts[-1]]
        if len(values) != starts[-1]:
            raise DataError(f"X is malformed: it has {len(values)} values for {starts[-1]} entries")
        if not ascending:
            starts, columns, values = _in_order(X)
        if values.dtype not in (np.float32, np.float64):
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        values = np.ascontiguousarray(values)
        return cls(starts, columns, values, n_features, absent)

    @classmethod
    def of_entries(
        cls, entries: tuple[Any, Any, Any], n_features: int, absent: float
    ) -> SparseMatrix:
        """Take starts, columns and values as the reader of text gives them."""
        starts, columns, values = entries
        return cls(starts, columns, values, n_features, absent)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def from_dense(cls, X: Array, absent: float) -> SparseMatrix:
        """Store the entries of an array that are not ``absent`` (0 or NaN)."""
        stored = ~np.isnan(X) if np.isnan(absent) else X != 0
        starts = np.r_[0, np.cumsum(stored.sum(axis=1))].astype(np.int64)
        columns = np.nonzero(stored)[1].astype(np.int32)
        return cls(starts, columns, X[stored], X.shape[1], absent)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self), self.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    @property
    def n_stored(self) -> int:
        """Number of entries that are stored."""
        return len(self.values)

    @property
    def entries(self) -> StoredEntries:
        """The stored entries, with float32 values, as kernels read them."""
        values = self.values.astype(np.float32, copy=False)
        return StoredEntries(self.starts, self.columns, values, self.absent)

    @property
    def size(self) -> int:
        """Number of entries, stored or not."""
        return len(self) * self.n_features

    def astype(self, dtype: type[np.floating[Any]], copy: bool = True) -> SparseMatrix:
        """Round the values; nothing is copied if they have the type already."""
        return self.with_values(self.values.astype(dtype, copy=False))

    def with_values(self, values: npt.NDArray[Any]) -> SparseMatrix:
        """Return the same matrix with other stored values."""
        return replace(self, values=values)

    def __getitem__(self, key: Any) -> Any:
        """Return some rows (sparse), or some columns of all rows: one as an array, several sparse.

        ``X[rows]``, ``X[:, column]`` and ``X[:, columns]``; rows and columns are numbers, a mask or
        a slice.
        """
        if not isinstance(key, tuple):
            return self.select_rows(_numbers(key, len(self)))
        rows, columns = key
        if rows != slice(None):
            return self[rows][:, columns]
        if isinstance(columns, int | np.integer):
            return self.dense(columns=[int(columns)])[:, 0]
        return self.select_columns(_numbers(columns, self.n_features))

    def dense(
        self,
        begin: int = 0,
        end: int | None = None,
        columns: Sequence[int] | npt.NDArray[Any] | None = None,
        n_jobs: int | None = None,
    ) -> npt.NDArray[Any]:
        """Make rows begin to end dense; only some (different) columns if they are given."""
        end = len(self) if end is None else end
        places, width = None, self.n_features
        if columns is not None:
            width = len(columns)
            places = np.full(self.n_features, -1, np.int32)
            places[np.asarray(columns, np.int64)] = np.arange(width, dtype=np.int32)
        first, last = self.starts[begin], self.starts[end]
        out = np.empty((end - begin, width), self.dtype)
        _native.dense_rows(
            self.starts[begin : end + 1] - first,
            self.columns[first:last],
            self.values[first:last],
            self.absent,
            0,
            places,
            self.n_features,
            out,
            resolve_n_jobs(n_jobs),
        )
        return out

    def take_rows(self, rows: slice | RowNumbers) -> Array:
        """Make some rows dense."""
        if isinstance(rows, slice) and rows.step is None:
            begin, end, _ = rows.indices(len(self))
            return self.dense(begin, max(begin, end))
        return self.select_rows(_numbers(rows, len(self))).toarray()

    def take_columns(self, begin: int, end: int) -> Array:
        """Make some columns dense."""
        return self.dense(columns=np.arange(begin, end))

    def select_rows(self, rows: RowNumbers) -> SparseMatrix:
        """Copy the entries of some rows."""
        return self._like(self.tocsr()[rows])

    def slice_rows(self, begin: int, end: int) -> SparseMatrix:
        """Return some neighbouring rows; their entries are not copied."""
        first, last = self.starts[begin], self.starts[end]
        return replace(
            self,
            starts=self.starts[begin : end + 1] - first,
            columns=self.columns[first:last],
            values=self.values[first:last],
        )

    def select_columns(self, places: Sequence[int] | npt.NDArray[Any]) -> SparseMatrix:
        """Copy the entries of some columns."""
        chosen = self.tocsr()[:, np.asarray(places, np.int64)]
        chosen.sort_indices()
        names = None if self.names is None else tuple(self.names[place] for place in places)
        categories = selected(self.categories, places)
        return replace(self._like(chosen), names=names, categories=categories)

    def widened(self, columns: RowNumbers, n_columns: int, fill: float) -> FeatureMatrix:
        """Renumber the columns; dense if ``fill`` is not what entries that are not stored are."""
        if n_columns > self.n_features and np.isnan(fill) != np.isnan(self.absent):
            dense = self.to_array("a fill value other than that of absent entries")
            return DenseMatrix(dense, None, self.categories).widened(columns, n_columns, fill)
        positions = np.asarray(columns, np.int32)
        categories = {int(positions[old]): found for old, found in self.categories.items()}
        return replace(
            self,
            columns=positions[self.columns],
            n_features=n_columns,
            names=None,
            categories=categories,
        )

    def with_names(self, names: tuple[str, ...] | None) -> FeatureMatrix:
        """Return the same matrix with other names of its columns."""
        return replace(self, names=names)

    def with_categories(self, categories: CategoriesByColumn) -> FeatureMatrix:
        """Return the same matrix, whose columns hold codes of these dictionaries."""
        return replace(self, categories=categories)

    def map_columns(
        self, maps: Mapping[int, ColumnMap], categories: CategoriesByColumn
    ) -> FeatureMatrix:
        """Make the matrix dense: a map gives other values for what is not stored, too."""
        dense = DenseMatrix(self.to_array("a matrix with categorical columns"), self.names)
        return dense.map_columns(maps, categories)

    def kernel_columns(self, rows: RowNumbers | None = None) -> KernelColumns:
        """Make the matrix dense, for kernels that do not read stored entries."""
        return KernelColumns([[self.to_array()]], len(self), rows)

    def memory_key(self) -> tuple[Any, ...]:
        """Return address and layout of the entries."""
        entries = array_key(self.columns), array_key(self.values)
        return (*entries, self.shape, self.starts.tobytes(), str(self.absent))

    def to_array(self, who: str = "this") -> Array:
        """Make the matrix dense if it is small enough."""
        n_bytes = self.size * self.dtype.itemsize
        if n_bytes > MAX_DENSE_BYTES:
            raise DataError(
                f"{who} needs a dense matrix, and the sparse one of {len(self):,} rows and "
                f"{self.n_features:,} columns would take {n_bytes / 2**30:,.1f} GiB: sparse data "
                f"are made dense up to {MAX_DENSE_BYTES / 2**30:g} GiB"
            )
        return self.dense()

    def arrays(self) -> tuple[Array, ...]:
        """Return the stored entries and the value of all others."""
        return self.starts, self.columns, self.values, np.array(self.absent)

    def row_blocks(
        self, columns: RowNumbers | None = None, n_jobs: int | None = None
    ) -> Iterator[Array]:
        """Make a few rows dense at a time: all columns, or some."""
        for begin, end in self.blocks(None if columns is None else len(columns)):
            yield self.dense(begin, end, columns, n_jobs)

    def each_column(self, columns: Iterable[int] | None = None) -> Iterator[tuple[int, Array]]:
        """Yield some columns (None: all), each with its number and as an array."""
        by_column = self.tocsr().tocsc()
        for column in range(self.n_features) if columns is None else columns:
            first, last = by_column.indptr[column : column + 2]
            dense = np.full(len(self), self.absent, self.dtype)
            dense[by_column.indices[first:last]] = by_column.data[first:last]
            yield int(column), dense

    def blocks(self, width: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows that are small if made dense with ``width`` columns (None: all)."""
        width = self.n_features if width is None else width
        step = max(1, _BLOCK_BYTES // max(1, width * self.dtype.itemsize))
        for begin in range(0, len(self), step):
            yield begin, min(len(self), begin + step)

    def extremes(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the smallest and largest value of each column; NaN if all are missing."""
        stored = np.bincount(self.columns, minlength=self.n_features)
        absent = np.where(stored < len(self), self.absent, np.nan).astype(self.dtype)
        low, high = absent.copy(), absent.copy()
        np.fmin.at(low, self.columns, self.values)
        np.fmax.at(high, self.columns, self.values)
        return low, high

    def toarray(self) -> npt.NDArray[Any]:
        """Return the dense matrix, whatever its size."""
        return self.dense()

    def tocsr(self) -> Any:
        """Return a ``scipy.sparse.csr_array`` of the stored entries that shares their memory."""
        from scipy.sparse import csr_array

        fits = self.n_stored < 2**31
        starts = self.starts.astype(np.int32) if fits else self.starts
        return csr_array((self.values, self.columns, starts), shape=self.shape, copy=False)

    def _like(self, matrix: Any) -> SparseMatrix:
        """Take the entries of a matrix that scipy made of this one."""
        return replace(
            SparseMatrix.of(matrix),
            absent=self.absent,
            names=self.names,
            categories=self.categories,
        )

    def __repr__(self) -> str:
        share = 100 * self.n_stored / max(1, self.size)
        return f"<SparseMatrix {len(self)} x {self.n_features}, {share:.2g} % filled>"


def stacked(parts: Sequence[Array | FeatureMatrix]) -> Array | SparseMatrix:
    """Concatenate the rows of matrices; the result is sparse if one of them is."""
    sparse = next((part for part in parts if isinstance(part, SparseMatrix)), None)
    if sparse is None:
        return np.concatenate([np.asarray(part) for part in parts])
    stored = [_with_absent(part, sparse.absent) for part in parts]
    first = stored[0]
    ends = np.cumsum([part.n_stored for part in stored])
    starts = [first.starts] + [
        part.starts[1:] + end for part, end in zip(stored[1:], ends[:-1], strict=True)
    ]
    return replace(
        first,
        starts=np.concatenate(starts),
        columns=np.concatenate([part.columns for part in stored]),
        values=np.concatenate([part.values for part in stored]),
    )


def _with_absent(X: Array | FeatureMatrix, absent: float) -> SparseMatrix:
    """Return a matrix whose entries that are not stored are ``absent`` (0 or NaN)."""
    if isinstance(X, SparseMatrix):
        if np.isnan(X.absent) == np.isnan(absent):
            return X
        X = X.to_array("a mixture of matrices")
    return SparseMatrix.from_dense(np.asarray(X), absent)


def _checked(
    indptr: Any, indices: Any, n_rows: int, n_features: int, row: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], bool]:
    """Return the starts of rows, the columns of entries, and whether these ascend in every row."""
    starts = np.ascontiguousarray(indptr, np.int64)
    if starts.shape != (n_rows + 1,):
        raise DataError(f"X is malformed: indptr has shape {starts.shape} for {n_rows} {row}s")
    indices = indices[: max(0, starts[-1])]
    if indices.dtype.itemsize > 4 and len(indices):
        extremes = int(indices.min()), int(indices.max())
        if extremes[0] < 0 or extremes[1] >= n_features:
            wrong = extremes[0] if extremes[0] < 0 else extremes[1]
            raise DataError(f"X is malformed: it has the index {wrong}, of {n_features}")
    columns = np.ascontiguousarray(indices, np.int32)
    try:
        ascending = _native.rows_ascend(starts, columns, n_features, resolve_n_jobs(None))
    except ValueError as error:
        raise DataError(f"X is malformed: {error}") from None
    return starts, columns, ascending


def _in_order(
    X: Any,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Sort the columns of each row; duplicate entries are added in the order they are stored."""
    ordered = X.__class__(X, copy=True)
    ordered.has_sorted_indices = False
    ordered.sort_indices()
    starts, columns, ascending = _checked(
        ordered.indptr, ordered.indices, X.shape[0], X.shape[1], "row"
    )
    if ascending:
        return starts, columns, ordered.data[: starts[-1]]
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    indices = X.indices[: len(rows)]
    order = np.lexsort((indices, rows))
    rows, columns, values = rows[order], indices[order], X.data[order]
    is_new = np.r_[True, (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])]
    sums = np.zeros(int(is_new.sum()), values.dtype)
    np.add.at(sums, np.cumsum(is_new) - 1, values)
    counts = np.bincount(rows[is_new], minlength=X.shape[0])
    return np.r_[0, np.cumsum(counts)].astype(np.int64), columns[is_new].astype(np.int32), sums


def _numbers(key: Any, n: int) -> npt.NDArray[np.int64]:
    """Return the numbers that a slice, a mask or a list of numbers names."""
    if isinstance(key, slice):
        return np.arange(n)[key]
    numbers = np.asarray(key)
    if numbers.dtype == bool:
        return np.flatnonzero(numbers)
    return np.atleast_1d(numbers).astype(np.int64)
