"""The interface of feature matrices: rows are documents, columns are features.

Engine, models and metrics read a matrix through this interface, whatever holds its numbers: an
array (``DenseMatrix``), the caller's columns (``CallerMatrix``), stored entries (``SparseMatrix``)
or a file (``StreamedMatrix``, ``ExtendedMatrix``). ``conversion`` makes one of anything that a
caller gives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import CategoriesByColumn
from rankgrove.data.matrix.cache import Arrays, CacheEntry

Array: TypeAlias = npt.NDArray[Any]
RowNumbers: TypeAlias = npt.NDArray[np.int64]

COLUMN_BLOCK_BYTES = 128 << 20  # of a block of columns in memory (at least one column is)
ROW_BLOCK_BYTES = 4 << 20  # of a block of rows of an array (at least one row is)


class ColumnMap(NamedTuple):
    """A function of the values of one column, which gives float32 values in their place.

    Attributes
    ----------
    apply : takes values as an array, of any rows
    key : what tells the function from others
    """

    apply: Callable[[Array], Array]
    key: Any


class StoredEntries(NamedTuple):
    """A sparse matrix in compressed rows (CSR), as kernels read it.

    Attributes
    ----------
    starts : int64, where each row's entries begin, and where the last one's end
    columns : int32 column of each entry, ascending within a row
    values : value of each entry
    absent : value of all entries that are not stored: 0 or NaN
    """

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    values: Array
    absent: float


class KernelColumns(NamedTuple):
    """A matrix as kernels read it, without a copy.

    Attributes
    ----------
    blocks : all columns, a few at a time: each block is a list of matrices side by side
    n_rows : number of rows of the blocks
    rows : which of these rows the kernel is to read, in this order; None: all of them
    """

    blocks: Iterable[list[Array]]
    n_rows: int
    rows: RowNumbers | None


class FeatureMatrix(ABC):
    """Numbers of documents (rows) and features (columns).

    What is known of each column belongs to the matrix: its name, and its categories if it is
    categorical. A categorical column holds codes; see ``data.core.categories``.

    Attributes
    ----------
    names : names of the columns, None if nobody gave any
    categories : the dictionaries of categorical columns, by the number of the column
    """

    names: tuple[str, ...] | None
    categories: CategoriesByColumn
    ndim = 2

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers as they are read: float32 or float64."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @property
    def entries(self) -> StoredEntries | None:
        """The stored entries of a sparse matrix; None if the matrix is not sparse."""
        return None

    @property
    def cache(self) -> CacheEntry | None:
        """The cache of what is computed from an out-of-core matrix; None if it is in memory."""
        return None

    @property
    def on_disk(self) -> bool:
        """Whether neither the matrix nor what is made of it need fit into memory."""
        return False

    @property
    def is_available(self) -> bool:
        """Whether rows can be read without going through the source of the data again."""
        return True

    def release(self) -> None:  # noqa: B027 - most matrices have nothing to free
        """Delete the temporary file of an out-of-core matrix, where there is one."""

    @abstractmethod
    def take_rows(self, rows: slice | RowNumbers) -> Array:
        """Return some rows as an array."""

    @abstractmethod
    def take_columns(self, begin: int, end: int) -> Array:
        """Return the columns ``begin:end`` of all rows as an array."""

    @abstractmethod
    def select_rows(self, rows: RowNumbers) -> FeatureMatrix:
        """Return the matrix of some rows, without a copy where that is possible."""

    @abstractmethod
    def slice_rows(self, begin: int, end: int) -> FeatureMatrix:
        """Return the matrix of the rows ``begin:end``, without a copy where that is possible."""

    @abstractmethod
    def select_columns(self, places: Sequence[int]) -> FeatureMatrix:
        """Return the matrix of some columns, without a copy where that is possible."""

    @abstractmethod
    def widened(self, columns: RowNumbers, n_columns: int, fill: float) -> FeatureMatrix:
        """Return a matrix of ``n_columns`` with these columns at positions ``columns``.

        The positions ascend; all other columns hold ``fill`` (0 or NaN) and have no names.
        """

    @abstractmethod
    def with_names(self, names: tuple[str, ...] | None) -> FeatureMatrix:
        """Return the same matrix with other names of its columns."""

    @abstractmethod
    def with_categories(self, categories: CategoriesByColumn) -> FeatureMatrix:
        """Return the same matrix, whose columns hold codes of these dictionaries."""

    def with_more_columns(self, extra: Array) -> FeatureMatrix:
        """Return the matrix with more columns after its own; no column has a name."""
        raise NotImplementedError

    @abstractmethod
    def map_columns(
        self, maps: Mapping[int, ColumnMap], categories: CategoriesByColumn
    ) -> FeatureMatrix:
        """Return the matrix with other values in some columns, without a copy of the others.

        ``categories`` are the dictionaries of the result.
        """

    @abstractmethod
    def kernel_columns(self, rows: RowNumbers | None = None) -> KernelColumns:
        """Return all columns, or some rows of them, for kernels that read dense columns."""

    @abstractmethod
    def memory_key(self) -> tuple[Any, ...]:
        """Return a key that two matrices share only if they read the same memory."""

    @abstractmethod
    def to_array(self, who: str = "this") -> Array:
        """Return the whole matrix as one array; an error says that ``who`` needs it."""

    def arrays(self) -> Iterable[Array]:
        """Return arrays that hold the content of the matrix, for digests of it."""
        return (self.to_array("a digest"),)

    def row_blocks(
        self, columns: RowNumbers | None = None, n_jobs: int | None = None
    ) -> Iterator[Array]:
        """Yield the rows in blocks of a few megabytes: all columns, or some, as an array."""
        n_rows = max(1, ROW_BLOCK_BYTES // max(4 * self.n_columns, 1))
        for start in range(0, len(self), n_rows):
            block = self.take_rows(slice(start, start + n_rows))
            yield block if columns is None else block[:, columns]

    def column_blocks(self) -> Iterator[tuple[int, Array]]:
        """Yield blocks of columns with the number of their first column."""
        width = max(1, COLUMN_BLOCK_BYTES // max(4 * len(self), 1))
        for begin in range(0, self.n_columns, width):
            end = min(begin + width, self.n_columns)
            yield begin, self.take_columns(begin, end)

    def each_column(self, columns: Iterable[int] | None = None) -> Iterator[tuple[int, Array]]:
        """Yield some columns (None: all), each with its number and as an array."""
        for column in range(self.n_columns) if columns is None else columns:
            yield int(column), self.take_columns(int(column), int(column) + 1)[:, 0]

    def batches(self) -> Iterator[FeatureMatrix]:
        """Yield the rows as matrices that fit into memory: the matrix itself if it is there."""
        yield self

    def by_rows(self, function: Callable[[FeatureMatrix], Array]) -> Array:
        """Apply a function that returns one result per row, batch by batch."""
        results = [function(batch) for batch in self.batches()]
        return results[0] if len(results) == 1 else np.concatenate(results)

    def extremes(self) -> tuple[Array, Array]:
        """Return the smallest and the largest value of each column; NaN if all are missing."""
        blocks = (block for _, block in self.column_blocks())
        ends = [(np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)) for x in blocks]
        low, high = (np.concatenate(parts) for parts in zip(*ends, strict=True))
        return low, high

    def memoised(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Compute arrays from the matrix, or return them from its cache if it has one."""
        return make() if self.cache is None else self.cache.arrays(name, make)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.to_array()
        return array if dtype is None else array.astype(dtype, copy=False)
