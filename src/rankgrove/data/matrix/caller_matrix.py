"""Features where the caller keeps them: a stand-in for a float32 matrix that copies nothing.

Kernels read the caller's numbers as they lie (``blocks``) and round each to float32. Python code
asks for some rows or columns at a time, which are copied. ``numpy.asarray`` copies the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

# Columns that are made for a kernel at a time: as many as it reads at a time.
_MADE_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class LazyColumn:
    """A column that kernels cannot read as it lies: its numbers are made when they are needed.

    ``make`` takes the numbers of rows, or a slice of them, and returns what kernels read.
    """

    make: Callable[[Any], npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class CallerMatrix:
    """A matrix of numbers in the caller's memory, which reads as float32.

    Attributes
    ----------
    parts : what stands side by side: arrays of columns, of types that kernels read, and columns
        that are made
    n_given : rows of the parts
    rows : which of these rows the matrix has; None: all
    """

    parts: tuple[npt.NDArray[Any] | LazyColumn, ...]
    n_given: int
    rows: npt.NDArray[np.int64] | None = None

    dtype = np.dtype(np.float32)
    ndim = 2

    def __len__(self) -> int:
        return self.n_given if self.rows is None else len(self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self), sum(map(_width, self.parts))

    def blocks(self) -> Iterator[list[npt.NDArray[Any]]]:
        """Yield all columns for a kernel, as matrices with all rows of the parts.

        Few of the columns that are made are there at a time: a block is emptied when the next is
        asked for.
        """
        block: list[npt.NDArray[Any]] = []
        n_made = 0
        for part in self.parts:
            if isinstance(part, LazyColumn):
                n_made += 1
                block.append(part.make(slice(None))[:, None])
            else:
                block.append(part)
            if n_made == _MADE_AT_ONCE:
                yield block
                block.clear()
                n_made = 0
        if block:
            yield block

    def kept(self, rows: npt.NDArray[np.int64]) -> CallerMatrix:
        """Leave out all other rows."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def row_numbers(self, order: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64] | None:
        """Return where rows of the matrix lie in the parts; None: all of them, as they are."""
        if self.rows is None or order is None:
            return order if self.rows is None else self.rows
        return self.rows[order]

    def __getitem__(self, key: Any) -> npt.NDArray[np.float32]:
        """Copy some rows, or some rows of one or of neighbouring columns."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if self.rows is not None:
            rows = self.rows[rows]
        if not isinstance(columns, slice):
            return self._columns(rows, int(columns), int(columns) + 1)[:, 0]
        begin, end, _ = columns.indices(self.shape[1])
        return self._columns(rows, begin, end)

    def _columns(self, rows: Any, begin: int, end: int) -> npt.NDArray[np.float32]:
        every_row = range(self.n_given)
        n_rows = len(every_row[rows] if isinstance(rows, slice) else rows)
        result = np.empty((n_rows, max(0, end - begin)), np.float32)
        start = 0  # number of the first column of a part
        for part in self.parts:
            first, last = max(begin - start, 0), min(end - start, _width(part))
            if first < last:
                if isinstance(part, LazyColumn):
                    values = part.make(rows)[:, None]
                else:
                    values = part[rows, first:last]
                with np.errstate(over="ignore"):
                    result[:, start + first - begin : start + last - begin] = values
            start += _width(part)
        return result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        result = self[:]
        return result if dtype is None else result.astype(dtype, copy=False)


def selected(array: npt.NDArray[Any], places: Sequence[int]) -> list[npt.NDArray[Any]]:
    """Return views of columns of an array; neighbours stay together."""
    views, first = [], 0
    for last in range(1, len(places) + 1):
        if last == len(places) or places[last] != places[last - 1] + 1:
            views.append(array[:, places[first] : places[last - 1] + 1])
            first = last
    return views


def _width(part: npt.NDArray[Any] | LazyColumn) -> int:
    return 1 if isinstance(part, LazyColumn) else int(part.shape[1])
