"""A float32 matrix in a file without a name: written row by row, read by rows or columns.

Rows come in blocks of a few megabytes, and a block is stored column by column, so that a few
columns of all rows and all columns of a few rows are both read in large pieces. A matrix that is
small enough for the caller stays in memory, in the same blocks.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.numbers import finite_ranges
from rankgrove.errors import DataError

Floats = npt.NDArray[np.float32]

_BLOCK_BYTES = 32 << 20
_LEAST_ROWS, _MOST_ROWS = 1 << 12, 1 << 16  # of a block
_LEAST_SHARE = 4  # an array in memory that has this part of a block's rows is a block alone


@dataclass(frozen=True)
class _Block:
    """One block: its place, its rows, the numbers and finite ranges of its columns.

    The place is an offset in the file, or the values themselves (columns x rows) in memory.
    """

    place: int | Floats
    n_rows: int
    first_column: int
    last_column: int
    low: Floats
    high: Floats


class DiskMatrix:
    """The matrix; columns that a block does not have hold ``absent``.

    Columns have numbers (text counts from 0 or 1), and ``finish`` says which of them make up the
    matrix. The file is made when more than ``memory_bytes`` of values are to be kept.
    """

    def __init__(self, folder: Path, absent: float = np.nan, memory_bytes: int = 0) -> None:
        self._folder = folder
        self._absent = absent
        self._memory_bytes = memory_bytes
        self._file: Any = None
        self._blocks: list[_Block] = []
        self._waiting: list[tuple[Floats, int]] = []
        self._n_waiting = 0
        self._width = 0  # of the widest array that waits
        self._size = 0  # in bytes, of all blocks
        self._numbers = np.zeros(0, np.int64)
        self.n_rows = 0
        self.n_columns = 0

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, X: Floats, first_column: int = 0) -> None:
        """Add rows whose first column has this number; the array must not change afterwards."""
        self._waiting.append((X, first_column))
        self._n_waiting += len(X)
        self._width = max(self._width, X.shape[1])
        wanted = _block_rows(self._width)
        if self._file is None and len(self._waiting) == 1 and len(X) >= wanted // _LEAST_SHARE:
            self._add_block(len(X))
        while self._n_waiting >= wanted:
            self._add_block(wanted)

    def finish(self, columns: Sequence[int] | None = None) -> None:
        """Flush the buffered rows; the matrix has the columns of these numbers, by default all."""
        if self._n_waiting:
            self._add_block(self._n_waiting)
        if columns is None:
            first = min((block.first_column for block in self._blocks), default=0)
            columns = range(first, max((block.last_column for block in self._blocks), default=0))
        self._numbers = np.array(columns, np.int64)
        self.n_columns = len(self._numbers)

    def ranges(self) -> tuple[Floats, Floats]:
        """Return the lowest and the highest finite value of each column; inf and -inf without."""
        low = np.full(self.n_columns, np.inf, np.float32)
        high = -low
        for block in self._blocks:
            inside = (self._numbers >= block.first_column) & (self._numbers < block.last_column)
            own = self._numbers[inside] - block.first_column
            low[inside] = np.minimum(low[inside], block.low[own])
            high[inside] = np.maximum(high[inside], block.high[own])
            if np.isfinite(self._absent):
                low[~inside] = np.minimum(low[~inside], self._absent)
                high[~inside] = np.maximum(high[~inside], self._absent)
        return low, high

    def columns(self, begin: int, end: int) -> Floats:
        """Read some columns of all rows."""
        result = np.empty((end - begin, self.n_rows), np.float32)
        start = 0
        for block in self._blocks:
            self._read(block, self._numbers[begin:end], result[:, start : start + block.n_rows])
            start += block.n_rows
        columns: Floats = result.T
        return columns

    def row_blocks(self) -> Iterator[Floats]:
        """Read all columns of the rows, block by block; blocks in memory are read-only views."""
        for block in self._blocks:
            yield self._whole(block).T

    def _whole(self, block: _Block) -> Floats:
        own = range(block.first_column, block.last_column)
        if not isinstance(block.place, int) and np.array_equal(self._numbers, own):
            view: Floats = block.place.view()
            view.flags.writeable = False
            return view
        result = np.empty((self.n_columns, block.n_rows), np.float32)
        self._read(block, self._numbers, result)
        return result

    def rows(self, begin: int, end: int) -> Floats:
        """Read all columns of some neighbouring rows."""
        parts = [np.empty((0, self.n_columns), np.float32)]
        start = 0
        for block in self._blocks:
            first, last = max(begin - start, 0), min(end - start, block.n_rows)
            if first < last:
                parts.append(self._whole(block).T[first:last])
            start += block.n_rows
        return np.concatenate(parts)

    def _read(self, block: _Block, numbers: npt.NDArray[np.int64], out: Floats) -> None:
        """Read columns by their numbers, neighbours at once."""
        begins = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
        for begin, end in zip(begins, [*begins[1:], len(numbers)], strict=True):
            first = max(int(numbers[begin]), block.first_column)
            last = min(int(numbers[end - 1]) + 1, block.last_column)
            place = begin + first - int(numbers[begin])
            if first >= last:
                out[begin:end] = self._absent
                continue
            out[begin:place] = out[place + last - first : end] = self._absent
            target = out[place : place + last - first]
            if not isinstance(block.place, int):
                own = slice(first - block.first_column, last - block.first_column)
                target[:] = block.place[own]
                continue
            part = target if target.flags.c_contiguous else np.empty(target.shape, np.float32)
            offset = block.place + 4 * block.n_rows * (first - block.first_column)
            rest = part.reshape(-1).view(np.uint8).data
            while rest:
                got = os.preadv(self._file.fileno(), [rest], offset)
                if got == 0:
                    raise DataError(f"{self._folder}: a temporary file was cut short")
                rest, offset = rest[got:], offset + got
            if part is not target:
                target[:] = part

    def _add_block(self, n_rows: int) -> None:
        """Make a block of the first buffered rows; all blocks go to the file if they are large."""
        values, first = self._taken(n_rows)
        last, ranges = first + len(values), finite_ranges(values.T)
        if self._file is None and self._size + values.nbytes > self._memory_bytes:
            with naming_folder(self._folder):
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            for i, block in enumerate(self._blocks):
                self._blocks[i] = replace(block, place=self._written(block.place))
        place = values if self._file is None else self._written(values)
        self._blocks.append(_Block(place, n_rows, first, last, *ranges))
        self._size += values.nbytes
        self.n_rows += n_rows

    def _written(self, values: Any) -> int:
        """Write the values of a block to the end of the file; return their offset."""
        offset: int = self._file.tell()
        with naming_folder(self._folder):
            rest = values.reshape(-1).view(np.uint8).data
            while rest:
                rest = rest[self._file.write(rest) :]
        return offset

    def _taken(self, n_rows: int) -> tuple[Floats, int]:
        """Take rows from the buffer; return them (columns x rows) and their first column."""
        taken: list[tuple[Floats, int]] = []
        total = n_rows
        while n_rows:
            X, first = self._waiting.pop(0)
            if len(X) > n_rows:
                self._waiting.insert(0, (X[n_rows:], first))
                X = X[:n_rows]
            taken.append((X, first))
            n_rows -= len(X)
        self._n_waiting -= total
        self._width = max((X.shape[1] for X, _ in self._waiting), default=0)
        if len(taken) == 1:
            X, first = taken[0]
            return np.ascontiguousarray(X.T), first
        first = min(first for _, first in taken)
        last = max(first + X.shape[1] for X, first in taken)
        values = np.empty((last - first, total), np.float32)
        start = 0
        for X, own_first in taken:
            own = values[:, start : start + len(X)]
            begin, end = own_first - first, own_first - first + X.shape[1]
            own[:begin] = own[end:] = self._absent
            own[begin:end] = X.T
            start += len(X)
        return values, first


class naming_folder:  # noqa: N801 - reads as a phrase: with naming_folder(folder)
    """Context in which system errors without a file name (a full disk) name the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise DataError(
                f"{self.folder}: {error.strerror or error} (temporary files are written here: "
                "RANKGROVE_CACHE or the option cache names another folder)"
            ) from None


def _block_rows(width: int) -> int:
    return min(max(_BLOCK_BYTES // (4 * max(width, 1)), _LEAST_ROWS), _MOST_ROWS)
