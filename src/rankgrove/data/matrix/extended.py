"""An out-of-core matrix with more columns, which are in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import CategoriesByColumn, selected
from rankgrove.data.matrix.cache import CacheEntry, PartOfCacheEntry
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.data.matrix.feature_matrix import (
    Array,
    ColumnMap,
    FeatureMatrix,
    KernelColumns,
    RowNumbers,
)
from rankgrove.errors import DataError

Floats = npt.NDArray[np.float32]


class ExtendedMatrix(FeatureMatrix):
    """Some columns of an out-of-core matrix, and after them columns of an array.

    Parameters
    ----------
    base : the matrix
    extra : float32, the other columns of the same rows
    places : columns of ``base`` and, after its last number, of ``extra``; None: all of them
    names : of the columns
    """

    def __init__(
        self,
        base: FeatureMatrix,
        extra: Floats,
        places: Sequence[int] | None = None,
        names: tuple[str, ...] | None = None,
    ) -> None:
        assert base.cache is not None
        self._base, self._extra = base, extra
        self._places = list(range(base.n_columns + extra.shape[1]) if places is None else places)
        self.names = names
        self.categories = selected(base.categories, self._places)
        digest = hashlib.sha256(repr((self._places, extra.shape)).encode())
        digest.update(np.ascontiguousarray(extra).data)
        self._cache = PartOfCacheEntry(base.cache, digest.hexdigest()[:16])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self._base), len(self._places)

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
        """Whether neither the matrix nor what is made of it need fit into memory."""
        return self._base.on_disk

    @property
    def is_available(self) -> bool:
        """Whether rows can be read without going through the source of the data again."""
        return self._base.is_available

    def release(self) -> None:
        """Delete the temporary file of the base."""
        self._base.release()

    def take_rows(self, rows: slice | RowNumbers) -> Floats:
        """Read some neighbouring rows."""
        return self._side_by_side(self._base.take_rows(rows), self._extra[rows])

    def take_columns(self, begin: int, end: int) -> Floats:
        """Read some columns."""
        found = np.empty((end - begin, len(self)), np.float32)
        n = self._base.n_columns
        for row, j in zip(found, self._places[begin:end], strict=True):
            row[:] = self._base.take_columns(j, j + 1)[:, 0] if j < n else self._extra[:, j - n]
        columns: Floats = found.T
        return columns

    def _side_by_side(self, block: Array, extra: Floats) -> Floats:
        return np.column_stack([block, extra])[:, self._places].astype(np.float32, copy=False)

    def select_rows(self, rows: RowNumbers) -> FeatureMatrix:
        """Refuse: rows of a stream have the order that they have."""
        return self._base.select_rows(rows)

    def slice_rows(self, begin: int, end: int) -> FeatureMatrix:
        """Read some neighbouring rows."""
        return DenseMatrix(self.take_rows(slice(begin, end)), self.names, self.categories)

    def select_columns(self, places: Sequence[int]) -> ExtendedMatrix:
        """Return the matrix of some columns."""
        names = None if self.names is None else tuple(self.names[j] for j in places)
        return ExtendedMatrix(self._base, self._extra, [self._places[j] for j in places], names)

    def widened(self, columns: RowNumbers, n_columns: int, fill: float) -> FeatureMatrix:
        """Refuse: columns of a stream are chosen when it is made."""
        raise DataError("columns of a stream are chosen when it is made")

    def with_names(self, names: tuple[str, ...] | None) -> ExtendedMatrix:
        """Return the same matrix with other names of its columns."""
        return ExtendedMatrix(self._base, self._extra, self._places, names)

    def with_categories(self, categories: CategoriesByColumn) -> FeatureMatrix:
        """Refuse: dictionaries are agreed on before columns are added."""
        raise DataError("the categories of a stream are agreed on before columns are added")

    def map_columns(
        self, maps: Mapping[int, ColumnMap], categories: CategoriesByColumn
    ) -> FeatureMatrix:
        """Refuse: dictionaries are agreed on before columns are added."""
        return self.with_categories(categories)

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
    ) -> Iterator[Floats]:
        """Read the rows in the blocks in which they were written."""
        start = 0
        for block in self._base.row_blocks():
            rows = self._side_by_side(block, self._extra[start : start + len(block)])
            start += len(block)
            yield rows if columns is None else rows[:, columns]

    def batches(self) -> Iterator[FeatureMatrix]:
        """Read the rows block by block."""
        if len(self) == 0:
            yield DenseMatrix(np.empty(self.shape, np.float32), self.names, self.categories)
        for block in self.row_blocks():
            yield DenseMatrix(block, self.names, self.categories)

    def to_array(self, who: str = "this") -> Floats:
        """Read the whole matrix, if it fits into memory."""
        return self._side_by_side(self._base.to_array(who), self._extra)
