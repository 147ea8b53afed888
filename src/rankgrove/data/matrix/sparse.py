"""Sparse features: a matrix of which each row stores some entries, and all others are alike.

What scipy calls CSR, with one thing more: entries that are not stored are 0, or missing (NaN) if
the data say so. It means the same as the dense matrix and is never made dense as a whole, except by
``np.asarray``, for code that knows only arrays: that works up to ``MAX_DENSE_BYTES`` and is refused
above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.errors import DataError

# The largest dense matrix that is made of a sparse one where an array is needed.
MAX_DENSE_BYTES = 1 << 30
# A block of rows that is made dense to be scored.
_BLOCK_BYTES = 16 << 20
# Columns from which, and the share of filled entries up to which, loaded data stay sparse.
_WIDE = 1000
_MOST_FILLED = 0.05


def worth_keeping(n_stored: int, n_rows: int, n_features: int) -> bool:
    """Tell whether ``load`` keeps such a matrix sparse: if it is wide and mostly empty."""
    return n_features >= _WIDE and n_stored <= _MOST_FILLED * n_rows * n_features


def is_sparse(X: Any) -> bool:
    """Tell whether X is a sparse matrix of scipy, without importing it."""
    return hasattr(X, "tocsr") and hasattr(X, "shape")


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A checked sparse matrix; it shares the memory of the one it was made of where it can.

    Attributes
    ----------
    starts : int64, where each row's entries begin, and where the last one's end
    columns : int32 column of each entry, ascending within a row
    values : float32 or float64 value of each entry
    n_features : number of columns
    absent : what entries that are not stored are: 0 or NaN
    """

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    n_features: int
    absent: float = 0.0

    @classmethod
    def of(cls, X: Any, absent: float = 0.0) -> SparseMatrix:
        """Check a sparse matrix of scipy, of any format; it is not changed.

        Entries that are given twice are added up, as scipy does.
        """
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

    @classmethod
    def with_absent(cls, X: Any, absent: float) -> SparseMatrix:
        """Store the entries of a matrix that are not ``absent`` (0 or NaN)."""
        if isinstance(X, SparseMatrix) and np.isnan(X.absent) == np.isnan(absent):
            return X
        dense = as_array(X, "a mixture of matrices")
        stored = ~np.isnan(dense) if np.isnan(absent) else dense != 0
        starts = np.r_[0, np.cumsum(stored.sum(axis=1))].astype(np.int64)
        columns = np.nonzero(stored)[1].astype(np.int32)
        return cls(starts, columns, dense[stored], dense.shape[1], absent)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self), self.n_features

    @property
    def ndim(self) -> int:
        """Two: rows and columns."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    @property
    def n_stored(self) -> int:
        """Number of entries that are stored."""
        return len(self.values)

    @property
    def size(self) -> int:
        """Number of entries, stored or not."""
        return len(self) * self.n_features

    def astype(self, dtype: type[np.floating[Any]], copy: bool = True) -> SparseMatrix:
        """Round the values; nothing is copied if they have the type already."""
        return self.with_values(self.values.astype(dtype, copy=False))

    def with_values(self, values: npt.NDArray[Any]) -> SparseMatrix:
        """Put other values in the place of those that are stored."""
        return replace(self, values=values)

    def among(self, columns: npt.NDArray[np.int32], n_features: int) -> SparseMatrix:
        """Put the columns where they stand, in ascending order, among more that store nothing."""
        return replace(self, columns=columns[self.columns], n_features=n_features)

    def __getitem__(self, key: Any) -> Any:
        """Return some rows (sparse), or some columns of all rows: one as an array, several sparse.

        ``X[rows]``, ``X[:, column]`` and ``X[:, columns]``; rows and columns are numbers, a mask or
        a slice.
        """
        matrix = self.tocsr()
        if not isinstance(key, tuple):
            return self._like(matrix[_numbers(key, len(self))])
        rows, columns = key
        if rows != slice(None):
            return self[rows][:, columns]
        if isinstance(columns, int | np.integer):
            return self.dense(columns=[int(columns)])[:, 0]
        chosen = matrix[:, _numbers(columns, self.n_features)]
        chosen.sort_indices()
        return self._like(chosen)

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

    def each_column(
        self, columns: Sequence[int] | npt.NDArray[Any]
    ) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield some columns, each with its number and as an array."""
        by_column = self.tocsr().tocsc()
        for column in columns:
            first, last = by_column.indptr[column : column + 2]
            dense = np.full(len(self), self.absent, self.dtype)
            dense[by_column.indices[first:last]] = by_column.data[first:last]
            yield int(column), dense

    def blocks(self, width: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows that are small when made dense with so many columns (None: all)."""
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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        dense = as_array(self, "this")
        return dense if dtype is None else dense.astype(dtype, copy=False)

    def _like(self, matrix: Any) -> SparseMatrix:
        """Take the entries of a matrix that scipy made of this one."""
        return replace(SparseMatrix.of(matrix), absent=self.absent)

    def __repr__(self) -> str:
        share = 100 * self.n_stored / max(1, self.size)
        return f"<SparseMatrix {len(self)} x {self.n_features}, {share:.2g} % filled>"


def as_array(X: Any, who: str) -> npt.NDArray[Any]:
    """Return a matrix as an array, for code that knows no other; errors say ``who`` needs it."""
    if not isinstance(X, SparseMatrix):
        return np.asarray(X)
    n_bytes = X.size * X.dtype.itemsize
    if n_bytes > MAX_DENSE_BYTES:
        raise DataError(
            f"{who} needs a dense matrix, and the sparse one of {len(X):,} rows and "
            f"{X.n_features:,} columns would take {n_bytes / 2**30:,.1f} GiB: sparse data are made "
            f"dense up to {MAX_DENSE_BYTES / 2**30:g} GiB"
        )
    return X.dense()


def each_column(
    X: Any, columns: Sequence[int] | npt.NDArray[Any]
) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Yield some columns of a matrix, each with its number and as an array."""
    if isinstance(X, SparseMatrix):
        yield from X.each_column(columns)
    else:
        for column in columns:
            yield int(column), X[:, column]


def dense_blocks(X: Any, n_rows: int) -> Iterator[npt.NDArray[Any]]:
    """Yield the rows of a matrix as arrays, ``n_rows`` at a time (fewer if it is sparse)."""
    if isinstance(X, SparseMatrix):
        for begin, end in X.blocks():
            yield X.dense(begin, end)
    else:
        for start in range(0, len(X), n_rows):
            yield X[start : start + n_rows]


def stacked(parts: Sequence[Any]) -> Any:
    """Put matrices one below the other; sparse if one of them is."""
    sparse = next((part for part in parts if isinstance(part, SparseMatrix)), None)
    if sparse is None:
        return np.concatenate(parts)
    parts = [SparseMatrix.with_absent(part, sparse.absent) for part in parts]
    first = parts[0]
    ends = np.cumsum([part.n_stored for part in parts])
    starts = [first.starts] + [
        part.starts[1:] + end for part, end in zip(parts[1:], ends[:-1], strict=True)
    ]
    return replace(
        first,
        starts=np.concatenate(starts),
        columns=np.concatenate([part.columns for part in parts]),
        values=np.concatenate([part.values for part in parts]),
    )


def _checked(
    indptr: Any, indices: Any, n_rows: int, n_features: int, row: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], bool]:
    """Return where rows start, the columns of entries, and whether these ascend in every row."""
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
    """Sort the columns of each row, and add up what is given twice in the order it is stored."""
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
