"""Out-of-core feature matrix: it is read from a temporary file and never held as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._memory import memory_limit, release_memory
from rankgrove.data.core.categories import CategoriesByColumn
from rankgrove.data.matrix.cache import CacheEntry, PartOfCacheEntry
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.data.matrix.disk_matrix import DiskMatrix
from rankgrove.data.matrix.extended import ExtendedMatrix
from rankgrove.data.matrix.feature_matrix import (
    ColumnMap,
    FeatureMatrix,
    KernelColumns,
    RowNumbers,
)
from rankgrove.errors import DataError

# Bytes of float32 values up to which a stream is kept in memory: reading it back from a file and
# growing trees on mapped codes, whose pages are small, would take a third longer.
_SMALL_BYTES = 256 << 20
_SMALL_SHARE = 8  # and no more than this part of the memory


def small_bytes() -> int:
    """Return the number of bytes of float32 values up to which a stream stays in memory."""
    return min(_SMALL_BYTES, memory_limit() // _SMALL_SHARE)


def _after(first: ColumnMap, second: ColumnMap) -> ColumnMap:
    """Return the map that applies the first and then the second."""
    return ColumnMap(lambda values: second.apply(first.apply(values)), (first.key, second.key))


class StreamedMatrix(FeatureMatrix):
    """A float32 matrix whose values are read again whenever they are needed."""

    def __init__(
        self,
        shape: tuple[int, int],
        cache: CacheEntry,
        read: Callable[[], DiskMatrix],
        names: tuple[str, ...] | None = None,
        categories: CategoriesByColumn | None = None,
        maps: Mapping[int, ColumnMap] | None = None,
    ) -> None:
        self.names = names
        self._maps = maps or {}
        self.categories = categories or {}
        self._shape = shape
        self._cache = cache
        self._read = read
        self._held: list[DiskMatrix] = []  # one at most; matrices of the same values share it

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.dtype(np.float32)

    @property
    def cache(self) -> CacheEntry:
        """The cache of what is computed from the values."""
        return self._cache

    @property
    def on_disk(self) -> bool:
        """Whether values and codes are in files, as those of a small stream are not."""
        return 4 * self.shape[0] * self.shape[1] > small_bytes()

    @property
    def is_available(self) -> bool:
        """Whether the temporary file is there."""
        return bool(self._held)

    @property
    def values(self) -> DiskMatrix:
        """The values in a temporary file, which is written first if it is not there."""
        if not self._held:
            self._held.append(self._read())
        return self._held[0]

    def set_values(self, values: DiskMatrix) -> None:
        """Set values that are in a temporary file already."""
        self._held[:] = [values]

    def release(self) -> None:
        """Delete the temporary file; values are read from the source again if needed."""
        if self._held:
            self._held.clear()
            release_memory()

    def take_rows(self, rows: slice | RowNumbers) -> npt.NDArray[np.float32]:
        """Read some neighbouring rows."""
        if not isinstance(rows, slice):
            if len(rows) and (np.diff(rows) != 1).any():
                raise DataError("rows of a stream are read in their order")
            rows = slice(int(rows[0]), int(rows[-1]) + 1) if len(rows) else slice(0, 0)
        begin, end, _ = rows.indices(len(self))
        return self._mapped(self.values.rows(begin, end))

    def take_columns(self, begin: int, end: int) -> npt.NDArray[np.float32]:
        """Read some columns."""
        return self._mapped(self.values.columns(begin, end), begin)

    def _mapped(self, block: npt.NDArray[np.float32], first: int = 0) -> npt.NDArray[np.float32]:
        """Apply the maps to a block of columns that starts with this number."""
        if self._maps and not block.flags.writeable:
            block = block.copy(order="K")
        for j, one in self._maps.items():
            if first <= j < first + block.shape[1]:
                block[:, j - first] = one.apply(block[:, j - first])
        return block

    def select_rows(self, rows: RowNumbers) -> FeatureMatrix:
        """Refuse: rows of a stream have the order that they have."""
        raise DataError("rows of a stream have the order that they have")

    def slice_rows(self, begin: int, end: int) -> FeatureMatrix:
        """Read some neighbouring rows."""
        return DenseMatrix(self.take_rows(slice(begin, end)), self.names, self.categories)

    def select_columns(self, places: Sequence[int]) -> FeatureMatrix:
        """Refuse: columns of a stream are chosen when it is made."""
        raise DataError("columns of a stream are chosen when it is made")

    def widened(self, columns: RowNumbers, n_columns: int, fill: float) -> FeatureMatrix:
        """Refuse: columns of a stream are chosen when it is made."""
        raise DataError("columns of a stream are chosen when it is made")

    def with_names(self, names: tuple[str, ...] | None) -> StreamedMatrix:
        """Return the same matrix with other names of its columns."""
        return self._described(names, self.categories)

    def with_categories(self, categories: CategoriesByColumn) -> StreamedMatrix:
        """Return the same matrix, whose columns hold codes of these dictionaries."""
        return self._described(self.names, categories)

    def with_more_columns(self, extra: npt.NDArray[Any]) -> FeatureMatrix:
        """Return the matrix with more columns after its own, which stay in memory."""
        return ExtendedMatrix(self, np.asarray(extra, np.float32))

    def map_columns(
        self, maps: Mapping[int, ColumnMap], categories: CategoriesByColumn
    ) -> StreamedMatrix:
        """Return the matrix with other values in some columns, computed whenever they are read."""
        own = self._maps
        both = {j: _after(own[j], maps[j]) for j in own.keys() & maps.keys()}
        other = self._described(self.names, categories)
        other._maps = {**own, **maps, **both}
        digest = hashlib.sha256(repr([(j, one.key) for j, one in maps.items()]).encode())
        other._cache = PartOfCacheEntry(self._cache, digest.hexdigest()[:16])
        return other

    def _described(
        self, names: tuple[str, ...] | None, categories: CategoriesByColumn
    ) -> StreamedMatrix:
        other = StreamedMatrix(self.shape, self._cache, self._read, names, categories)
        other._maps = self._maps
        other._held = self._held
        return other

    def kernel_columns(self, rows: RowNumbers | None = None) -> KernelColumns:
        """Read a few columns of all rows at a time."""
        if rows is not None:
            raise DataError("rows of a stream have the order that they have")
        return KernelColumns(([block] for _, block in self.column_blocks()), len(self), None)

    def memory_key(self) -> tuple[Any, ...]:
        """Return the identity of this object."""
        return (id(self),)

    def row_blocks(
        self, columns: RowNumbers | None = None, n_jobs: int | None = None
    ) -> Iterator[npt.NDArray[np.float32]]:
        """Read the rows in the blocks in which they were written."""
        for block in self.values.row_blocks():
            mapped = self._mapped(block)
            yield mapped if columns is None else mapped[:, columns]

    def each_column(
        self, columns: Iterable[int] | None = None
    ) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
        """Read columns block by block, or some of them one by one."""
        if columns is not None:
            yield from super().each_column(columns)
            return
        for begin, block in self.column_blocks():
            yield from enumerate(block.T, begin)

    def batches(self) -> Iterator[FeatureMatrix]:
        """Read the rows block by block."""
        if len(self) == 0:
            yield DenseMatrix(np.empty(self.shape, np.float32), self.names, self.categories)
        for block in self.row_blocks():
            yield DenseMatrix(block, self.names, self.categories)

    def to_array(self, who: str = "this") -> npt.NDArray[np.float32]:
        """Read the whole matrix, if it fits into memory."""
        n_rows, n_columns = self.shape
        if 4 * n_rows * n_columns > memory_limit():
            raise DataError(
                f"{n_rows} rows of {n_columns} features do not fit into memory, and this needs "
                "them there"
            )
        result = np.empty(self.shape, np.float32)
        start = 0
        for block in self.row_blocks():
            result[start : start + len(block)] = block
            start += len(block)
        return result
