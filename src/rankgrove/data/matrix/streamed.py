"""A feature matrix that is read when it is needed and never held: a stand-in for an array.

What can be done row by row or a few columns at a time asks ``by_rows`` and ``column_blocks``, which
take arrays and a CallerMatrix, too. ``numpy.asarray`` brings the whole matrix into memory, if it
fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._memory import give_back_memory, memory_limit
from rankgrove.data.matrix.cache import Arrays, Entry
from rankgrove.data.matrix.caller_matrix import CallerMatrix
from rankgrove.data.matrix.disk_matrix import Spool
from rankgrove.errors import DataError

# Bytes of a block of columns in memory (at least one column is).
_COLUMNS_BYTES = 128 << 20
_ROWS_BYTES = 4 << 20  # of a block of rows of an array (at least one row is)


class StreamedMatrix:
    """A float32 matrix whose values are read again when somebody asks for them.

    Attributes
    ----------
    entry : where what is made of the values is kept
    """

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(self, shape: tuple[int, int], entry: Entry, read: Callable[[], Spool]) -> None:
        self.shape = shape
        self.entry = entry
        self._read = read
        self._spool: Spool | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def values(self) -> Spool:
        """The values in a temporary file."""
        if self._spool is None:
            self._spool = self._read()
        return self._spool

    @property
    def at_hand(self) -> bool:
        """Whether values can be had without reading the source again."""
        return self._spool is not None

    def take(self, values: Spool) -> None:
        """Take values that somebody has read already."""
        self._spool = values

    def forget(self) -> None:
        """Delete the temporary file; values are read anew if they are wanted again."""
        if self._spool is not None:
            self._spool = None
            give_back_memory()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        n_rows, n_columns = self.shape
        if 4 * n_rows * n_columns > memory_limit():
            raise DataError(
                f"{n_rows} rows of {n_columns} features do not fit into memory, and this needs "
                "them there"
            )
        result = np.empty(self.shape, np.float32)
        start = 0
        for block in self.values.row_blocks():
            result[start : start + len(block)] = block
            start += len(block)
        return result if dtype is None else result.astype(dtype)


def by_rows(X: Any, function: Callable[[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Apply a function that gives something for each row: to an array, or block by block."""
    if not isinstance(X, StreamedMatrix | CallerMatrix):
        return function(X)
    if len(X) == 0:
        return function(np.asarray(X))
    return np.concatenate([function(block) for block in row_blocks(X)])


def row_blocks(X: Any) -> Iterator[npt.NDArray[Any]]:
    """Yield the rows in blocks."""
    if isinstance(X, StreamedMatrix):
        yield from X.values.row_blocks()
        return
    n_rows = max(1, _ROWS_BYTES // max(4 * X.shape[1], 1))
    for start in range(0, len(X), n_rows):
        yield X[start : start + n_rows]


def column_blocks(X: Any) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Yield blocks of columns, with the number of their first; an array is one block."""
    if not isinstance(X, StreamedMatrix | CallerMatrix):
        yield 0, X
        return
    n_rows, n_columns = X.shape
    width = max(1, _COLUMNS_BYTES // max(4 * n_rows, 1))
    for begin in range(0, n_columns, width):
        end = min(begin + width, n_columns)
        yield (
            begin,
            X[:, begin:end] if isinstance(X, CallerMatrix) else X.values.columns(begin, end),
        )


def remembered(X: Any, name: str, make: Callable[[], Arrays]) -> Arrays:
    """Make arrays of a matrix, unless they are kept with a stream."""
    return X.entry.arrays(name, make) if isinstance(X, StreamedMatrix) else make()
