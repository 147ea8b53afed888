"""Dense feature matrices in memory: one array, or the caller's columns in place.

A fit copies neither: kernels read the caller's numbers where they are (``kernel_columns``) and
round each to float32. Python code asks for some rows or columns at a time, which are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import CategoriesByColumn, selected
from rankgrove.data.matrix.feature_matrix import (
    Array,
    ColumnMap,
    FeatureMatrix,
    KernelColumns,
    RowNumbers,
)

# Lazy columns that are computed for a kernel at a time: as many as it reads at a time.
_LAZY_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class DenseMatrix(FeatureMatrix):
    """A two-dimensional array with any strides; it is never copied.

    Attributes
    ----------
    values : the array
    names : names of its columns
    categories : dictionaries of its categorical columns
    """

    values: Array
    names: tuple[str, ...] | None = None
    categories: CategoriesByColumn = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        n_rows, n_columns = self.values.shape
        return n_rows, n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the array."""
        return self.values.dtype

    def take_rows(self, rows: slice | RowNumbers) -> Array:
        """Return some rows; those of a slice are a view."""
        return self.values[rows]

    def take_columns(self, begin: int, end: int) -> Array:
        """Return a view of some columns."""
        return self.values[:, begin:end]

    def select_rows(self, rows: RowNumbers) -> FeatureMatrix:
        """Return some rows of the same memory."""
        return CallerMatrix((self.values,), len(self), rows, self.names, self.categories)

    def slice_rows(self, begin: int, end: int) -> DenseMatrix:
        """Return a view of some neighbouring rows."""
        return replace(self, values=self.values[begin:end])

    def select_columns(self, places: Sequence[int]) -> DenseMatrix:
        """Return some columns: a view if they are contiguous, else a copy."""
        first = int(places[0]) if len(places) else 0
        if list(places) == list(range(first, first + len(places))):
            values = self.values[:, first : first + len(places)]
        else:
            values = np.take(self.values, places, axis=1)
        return DenseMatrix(values, _names_at(self.names, places), selected(self.categories, places))

    def widened(self, columns: RowNumbers, n_columns: int, fill: float) -> DenseMatrix:
        """Copy the columns into a wider array."""
        wider = np.full((len(self), n_columns), fill, np.float32)
        wider[:, columns] = self.values
        return DenseMatrix(wider, categories=_moved(self.categories, columns))

    def with_names(self, names: tuple[str, ...] | None) -> FeatureMatrix:
        """Return the same matrix with other names of its columns."""
        return replace(self, names=names)

    def with_categories(self, categories: CategoriesByColumn) -> FeatureMatrix:
        """Return the same matrix, whose columns hold codes of these dictionaries."""
        return replace(self, categories=categories)

    def with_more_columns(self, extra: Array) -> FeatureMatrix:
        """Return the matrix with more columns after its own, which are not copied."""
        return CallerMatrix((self.values, extra), len(self), categories=self.categories)

    def map_columns(
        self, maps: Mapping[int, ColumnMap], categories: CategoriesByColumn
    ) -> FeatureMatrix:
        """Return the matrix with other values in some columns, computed when they are read."""
        whole = CallerMatrix((self.values,), len(self), names=self.names)
        return whole.map_columns(maps, categories)

    def kernel_columns(self, rows: RowNumbers | None = None) -> KernelColumns:
        """Return the array as one block."""
        return KernelColumns([[self.values]], len(self), rows)

    def memory_key(self) -> tuple[Any, ...]:
        """Return address and layout of the array."""
        return array_key(self.values)

    def to_array(self, who: str = "this") -> Array:
        """Return the array itself."""
        return self.values

    def column_blocks(self) -> Iterator[tuple[int, Array]]:
        """Yield the array as one block."""
        yield 0, self.values


@dataclass(frozen=True, eq=False)
class LazyColumn:
    """A column that kernels cannot read in place: its numbers are computed when needed.

    ``compute`` takes row numbers, or a slice of rows, and returns an array that kernels read. Only
    columns of the same numbers have the same ``key``; None: it has no equal.
    """

    compute: Callable[[Any], Array]
    key: Any = None


@dataclass(frozen=True, eq=False)
class CallerMatrix(FeatureMatrix):
    """Arrays and lazy columns of the caller, side by side, which read as float32.

    Attributes
    ----------
    parts : arrays of columns, of types that kernels read, and lazy columns
    n_given : rows of the parts
    rows : which of these rows the matrix has; None: all
    names : names of the columns
    categories : dictionaries of categorical columns
    """

    parts: tuple[Array | LazyColumn, ...]
    n_given: int
    rows: RowNumbers | None = None
    names: tuple[str, ...] | None = None
    categories: CategoriesByColumn = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        n_rows = self.n_given if self.rows is None else len(self.rows)
        return n_rows, sum(map(_width, self.parts))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type as which the parts are read."""
        return np.dtype(np.float32)

    def take_rows(self, rows: slice | RowNumbers) -> npt.NDArray[np.float32]:
        """Copy some rows."""
        return self._copied(rows, 0, self.n_columns)

    def take_columns(self, begin: int, end: int) -> npt.NDArray[np.float32]:
        """Copy some columns."""
        return self._copied(slice(None), begin, end)

    def select_rows(self, rows: RowNumbers) -> CallerMatrix:
        """Return some rows of the same memory."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def slice_rows(self, begin: int, end: int) -> CallerMatrix:
        """Return some neighbouring rows of the same memory."""
        return self.select_rows(np.arange(begin, end))

    def select_columns(self, places: Sequence[int]) -> CallerMatrix:
        """Return some columns of the same memory."""
        parts: list[Array | LazyColumn] = []
        for part in self.parts:
            if isinstance(part, LazyColumn):
                parts.append(part)
            else:
                parts += [part[:, j : j + 1] for j in range(_width(part))]
        return replace(
            self,
            parts=tuple(parts[place] for place in places),
            names=_names_at(self.names, places),
            categories=selected(self.categories, places),
        )

    def widened(self, columns: RowNumbers, n_columns: int, fill: float) -> DenseMatrix:
        """Copy the columns into a wider array."""
        return DenseMatrix(self.to_array(), None, self.categories).widened(columns, n_columns, fill)

    def with_names(self, names: tuple[str, ...] | None) -> FeatureMatrix:
        """Return the same matrix with other names of its columns."""
        return replace(self, names=names)

    def with_categories(self, categories: CategoriesByColumn) -> FeatureMatrix:
        """Return the same matrix, whose columns hold codes of these dictionaries."""
        return replace(self, categories=categories)

    def with_more_columns(self, extra: Array) -> CallerMatrix:
        """Return the matrix with more columns after its own, which are not copied."""
        given = extra
        if self.rows is not None:
            given = np.full((self.n_given, extra.shape[1]), np.nan, np.float32)
            given[self.rows] = extra
        return replace(self, parts=(*self.parts, given), names=None)

    def map_columns(
        self, maps: Mapping[int, ColumnMap], categories: CategoriesByColumn
    ) -> CallerMatrix:
        """Return the matrix with other values in some columns, computed when they are read."""
        parts: list[Array | LazyColumn] = []
        start = 0  # number of the first column of a part
        for part in self.parts:
            cuts = sorted({j - start for j in maps if start <= j < start + _width(part)})
            parts += _mapped_part(part, {j: maps[start + j] for j in cuts})
            start += _width(part)
        return replace(self, parts=tuple(parts), categories=categories)

    def kernel_columns(self, rows: RowNumbers | None = None) -> KernelColumns:
        """Return the parts; lazy columns are computed a few at a time."""
        if self.rows is not None:
            rows = self.rows if rows is None else self.rows[rows]
        return KernelColumns(self._blocks(), self.n_given, rows)

    def _blocks(self) -> Iterator[list[Array]]:
        """Yield all columns; a block is emptied when the next is asked for."""
        block: list[Array] = []
        n_lazy = 0
        for part in self.parts:
            if isinstance(part, LazyColumn):
                n_lazy += 1
                block.append(part.compute(slice(None))[:, None])
            else:
                block.append(part)
            if n_lazy == _LAZY_AT_ONCE:
                yield block
                block.clear()
                n_lazy = 0
        if block:
            yield block

    def memory_key(self) -> tuple[Any, ...]:
        """Return address and layout of all parts and of the row numbers."""
        parts = [
            _lazy_key(part) if isinstance(part, LazyColumn) else array_key(part)
            for part in self.parts
        ]
        return (*parts, None if self.rows is None else array_key(self.rows))

    def to_array(self, who: str = "this") -> npt.NDArray[np.float32]:
        """Copy the whole matrix."""
        return self.take_rows(slice(None))

    def arrays(self) -> Iterable[Array]:
        """Yield copies of blocks of rows, so that the matrix is never copied whole."""
        return self.row_blocks()

    def batches(self) -> Iterator[FeatureMatrix]:
        """Yield copies of blocks of rows."""
        if len(self) == 0:
            yield DenseMatrix(self.to_array(), self.names, self.categories)
        for block in self.row_blocks():
            yield DenseMatrix(block, self.names, self.categories)

    def _copied(self, rows: slice | RowNumbers, begin: int, end: int) -> npt.NDArray[np.float32]:
        if self.rows is not None:
            rows = self.rows[rows]
        n_rows = len(range(self.n_given)[rows]) if isinstance(rows, slice) else len(rows)
        result = np.empty((n_rows, max(0, end - begin)), np.float32)
        start = 0  # number of the first column of a part
        for part in self.parts:
            first, last = max(begin - start, 0), min(end - start, _width(part))
            if first < last:
                if isinstance(part, LazyColumn):
                    values = part.compute(rows)[:, None]
                else:
                    values = part[rows, first:last]
                with np.errstate(over="ignore"):
                    result[:, start + first - begin : start + last - begin] = values
            start += _width(part)
        return result


def _mapped_part(
    part: Array | LazyColumn, maps: Mapping[int, ColumnMap]
) -> list[Array | LazyColumn]:
    """Return a part, cut where columns of it have a map."""
    if isinstance(part, LazyColumn):
        return [_mapped_lazily(part, maps[0])] if maps else [part]
    pieces: list[Array | LazyColumn] = []
    done = 0
    for j, one in maps.items():
        if done < j:
            pieces.append(part[:, done:j])
        pieces.append(_mapped_lazily(part[:, j], one))
        done = j + 1
    return [*pieces, part[:, done:]] if done < _width(part) else pieces


def _mapped_lazily(column: Array | LazyColumn, one: ColumnMap) -> LazyColumn:
    if isinstance(column, LazyColumn):
        compute = column.compute
        return LazyColumn(lambda rows: one.apply(compute(rows)), (_lazy_key(column), one.key))
    return LazyColumn(lambda rows: one.apply(column[rows]), (array_key(column), one.key))


def _lazy_key(column: LazyColumn) -> tuple[Any, ...]:
    return (id(column) if column.key is None else column.key,)


def array_key(array: Array) -> tuple[Any, ...]:
    """Return a key that two arrays share only if they are the same memory in the same layout."""
    return (array.ctypes.data, array.shape, array.strides, array.dtype.str)


def as_matrix(X: FeatureMatrix | Array) -> FeatureMatrix:
    """Return a checked two-dimensional array as a matrix; a matrix is returned as it is."""
    return X if isinstance(X, FeatureMatrix) else DenseMatrix(X)


def neighbouring_columns(array: Array, places: Sequence[int]) -> list[Array]:
    """Return views of columns of an array; neighbours stay together."""
    views, first = [], 0
    for last in range(1, len(places) + 1):
        if last == len(places) or places[last] != places[last - 1] + 1:
            views.append(array[:, places[first] : places[last - 1] + 1])
            first = last
    return views


def _names_at(names: tuple[str, ...] | None, places: Sequence[int]) -> tuple[str, ...] | None:
    return None if names is None else tuple(names[place] for place in places)


def _moved(categories: CategoriesByColumn, columns: RowNumbers) -> CategoriesByColumn:
    return {int(columns[old]): found for old, found in categories.items()}


def _width(part: Array | LazyColumn) -> int:
    return 1 if isinstance(part, LazyColumn) else int(part.shape[1])
