"""A float32 matrix on disk, in a file without a name: written row by row, read by rows or columns.

Rows come in blocks of a few megabytes, and a block is stored column by column, so that a few
columns of all rows and all columns of a few rows are both read in large pieces.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.numbers import finite_ranges
from rankgrove.errors import DataError

Floats = npt.NDArray[np.float32]

_BLOCK_BYTES = 32 << 20
_LEAST_ROWS, _MOST_ROWS = 1 << 12, 1 << 16  # of a block


@dataclass(frozen=True)
class _Block:
    """One block: its offset in the file, its rows, the numbers and finite ranges of its columns."""

    offset: int
    n_rows: int
    first_column: int
    last_column: int
    low: Floats
    high: Floats


class DiskMatrix:
    """The matrix; columns that a block does not have hold ``absent``.

    Columns have numbers (text counts from 0 or 1), and ``finish`` says which of them make up the
    matrix.
    """

    def __init__(self, folder: Path, absent: float = np.nan) -> None:
        self._folder = folder
        self._absent = absent
        with naming_folder(folder):
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        self._blocks: list[_Block] = []
        self._waiting: list[tuple[Floats, int]] = []
        self._n_waiting = 0
        self._size = 0
        self._numbers = np.zeros(0, np.int64)
        self.n_rows = 0
        self.n_columns = 0

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def append(self, X: Floats, first_column: int = 0) -> None:
        """Add rows whose first column has this number."""
        self._waiting.append((X, first_column))
        self._n_waiting += len(X)
        width = max(x.shape[1] for x, _ in self._waiting)
        wanted = _block_rows(width)
        while self._n_waiting >= wanted:
            self._write(wanted)

    def finish(self, columns: Sequence[int] | None = None) -> None:
        """Flush the buffered rows; the matrix has the columns of these numbers, by default all."""
        if self._n_waiting:
            self._write(self._n_waiting)
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
        """Read all columns of the rows, block by block."""
        for block in self._blocks:
            result = np.empty((self.n_columns, block.n_rows), np.float32)
            self._read(block, self._numbers, result)
            yield result.T

    def rows(self, begin: int, end: int) -> Floats:
        """Read all columns of some neighbouring rows."""
        parts = [np.empty((0, self.n_columns), np.float32)]
        start = 0
        for block in self._blocks:
            first, last = max(begin - start, 0), min(end - start, block.n_rows)
            if first < last:
                whole = np.empty((self.n_columns, block.n_rows), np.float32)
                self._read(block, self._numbers, whole)
                parts.append(whole.T[first:last])
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
            part = target if target.flags.c_contiguous else np.empty(target.shape, np.float32)
            offset = block.offset + 4 * block.n_rows * (first - block.first_column)
            rest = part.reshape(-1).view(np.uint8).data
            while rest:
                got = os.preadv(self._file.fileno(), [rest], offset)
                if got == 0:
                    raise DataError(f"{self._folder}: a temporary file was cut short")
                rest, offset = rest[got:], offset + got
            if part is not target:
                target[:] = part

    def _write(self, n_rows: int) -> None:
        """Write the first buffered rows as one block."""
        taken: list[tuple[Floats, int]] = []
        while n_rows:
            X, first = self._waiting.pop(0)
            if len(X) > n_rows:
                self._waiting.insert(0, (X[n_rows:], first))
                X = X[:n_rows]
            taken.append((X, first))
            n_rows -= len(X)
        first = min(first for _, first in taken)
        last = max(first + X.shape[1] for X, first in taken)
        total = sum(len(X) for X, _ in taken)
        values = np.empty((last - first, total), np.float32)
        start = 0
        for X, own_first in taken:
            own = values[:, start : start + len(X)]
            begin, end = own_first - first, own_first - first + X.shape[1]
            own[:begin] = own[end:] = self._absent
            own[begin:end] = X.T
            start += len(X)
        with naming_folder(self._folder):
            rest = values.reshape(-1).view(np.uint8).data
            while rest:
                rest = rest[self._file.write(rest) :]
        self._blocks.append(_Block(self._size, total, first, last, *finite_ranges(values.T)))
        self._size += values.nbytes
        self.n_rows += total
        self._n_waiting -= total


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
