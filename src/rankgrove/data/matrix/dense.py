"""Dense feature matrices in memory: one array, or the caller's columns as they lie.

A fit copies neither: kernels read the caller's numbers where they are (``kernel_columns``) and
round each to float32. Python code asks for some rows or columns at a time, which are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.feature_matrix import (
    Array,
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
    """

    values: Array
    names: tuple[str, ...] | None = None

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
        return CallerMatrix((self.values,), len(self), rows, self.names)

    def slice_rows(self, begin: int, end: int) -> DenseMatrix:
        """Return a view of some neighbouring rows."""
        return DenseMatrix(self.values[begin:end], self.names)

    def select_columns(self, places: Sequence[int]) -> DenseMatrix:
        """Return some columns: a view if they stand side by side, else a copy."""
        names = _names_at(self.names, places)
        first = int(places[0]) if len(places) else 0
        if list(places) == list(range(first, first + len(places))):
            return DenseMatrix(self.values[:, first : first + len(places)], names)
        return DenseMatrix(np.take(self.values, places, axis=1), names)

    def with_names(self, names: tuple[str, ...] | None) -> FeatureMatrix:
        """Return the same matrix with other names of its columns."""
        return replace(self, names=names)

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
    """A column that kernels cannot read as it lies: its numbers are computed when needed.

    ``compute`` takes row numbers, or a slice of rows, and returns an array that kernels read.
    """

    compute: Callable[[Any], Array]


@dataclass(frozen=True, eq=False)
class CallerMatrix(FeatureMatrix):
    """Arrays and lazy columns of the caller, side by side, which read as float32.

    Attributes
    ----------
    parts : arrays of columns, of types that kernels read, and lazy columns
    n_given : rows of the parts
    rows : which of these rows the matrix has; None: all
    names : names of the columns
    """

    parts: tuple[Array | LazyColumn, ...]
    n_given: int
    rows: RowNumbers | None = None
    names: tuple[str, ...] | None = None

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
        chosen = tuple(parts[place] for place in places)
        return replace(self, parts=chosen, names=_names_at(self.names, places))

    def with_names(self, names: tuple[str, ...] | None) -> FeatureMatrix:
        """Return the same matrix with other names of its columns."""
        return replace(self, names=names)

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
            (id(part),) if isinstance(part, LazyColumn) else array_key(part) for part in self.parts
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
            yield DenseMatrix(self.to_array(), self.names)
        for block in self.row_blocks():
            yield DenseMatrix(block, self.names)

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


def _width(part: Array | LazyColumn) -> int:
    return 1 if isinstance(part, LazyColumn) else int(part.shape[1])
