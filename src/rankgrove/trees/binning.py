"""Features as small codes: what every grower works on."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._memory import give_back_memory
from rankgrove._native import BinnedMatrix, Bins
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.matrix.cache import CacheEntry, Entry
from rankgrove.data.matrix.caller_matrix import CallerMatrix, LazyColumn
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.data.matrix.streamed import StreamedMatrix, column_blocks
from rankgrove.errors import DataError
from rankgrove.trees.code_file import mapped_codes

__all__ = ["BinnedMatrix", "Bins", "bin_matrix", "find_bins", "remembered_bins"]

Made = TypeVar("Made")
Rows = npt.NDArray[np.int64] | None
_BLOCK = 1 << 14  # rows that are digested together
_MANY_ROWS = 1 << 18  # so many that the memory of sorted columns is worth to be given back


@dataclass(frozen=True)
class _Memory:
    """What was binned in a context, with the arrays that it was made of, and where it is shared."""

    made: dict[Any, Any]
    folder: Path | None


# None: nothing is kept.
_REMEMBERED: ContextVar[_Memory | None] = ContextVar("remembered_bins", default=None)


@contextlib.contextmanager
def remembered_bins(folder: Path | None = None) -> Iterator[None]:
    """Context in which the same matrix is never binned twice in the same way.

    Fits of several rankers on the same data share their bins and codes. A matrix is known by its
    memory, which is kept alive and must not change until the context ends.

    Parameters
    ----------
    folder : where bins and codes are shared with other processes, which know a matrix by its
        values. Sparse codes are not shared.
    """
    token = _REMEMBERED.set(_Memory({}, folder))
    try:
        yield
    finally:
        _REMEMBERED.reset(token)


def find_bins(
    X: Any,
    *,
    max_bins: int = 255,
    fill: npt.NDArray[np.float32] | None = None,
    n_jobs: int | None = None,
) -> Bins:
    """Find each feature's bins from training data.

    A feature with at most ``max_bins`` distinct values gets one bin per value; others get bins of
    about equal numbers of rows, in which frequent values stand alone. Thresholds are float32
    mid-points strictly between two observed values (the lower value itself where the two are
    neighbours in float32). Up to 255 bins are stored in one byte per value, up to 65534 in two.

    Parameters
    ----------
    X : matrix of float32, float64 or whole numbers with any strides, CallerMatrix or SparseMatrix,
        which are not copied; or a stream
    fill : per feature, the value that stands in for NaN; NaN (the default) keeps it missing
    """
    if fill is None:
        fill = np.full(X.shape[1], np.nan, np.float32)
    key = ("bins", _memory(X), max_bins, fill.tobytes())
    n_threads, kept_fill, entry = resolve_n_jobs(n_jobs), fill, _entry(X)

    def make() -> Bins:
        if entry is None:
            return _new_bins(X, max_bins, kept_fill, n_threads)
        arrays = entry.arrays(
            f"bins-{_digest(np.array(max_bins), kept_fill)}",
            lambda: dict(
                zip(_ARRAYS, _new_bins(X, max_bins, kept_fill, n_threads).arrays(), strict=True)
            ),
        )
        return _native.bins_from_arrays(*(arrays[name] for name in _ARRAYS))

    return _once(key, X, make)


def bin_matrix(
    X: Any,
    bins: Bins,
    *,
    rows: npt.NDArray[np.int64] | None = None,
    dense: bool = False,
    n_jobs: int | None = None,
) -> BinnedMatrix:
    """Replace values by bin codes; row i of the result is row ``rows[i]`` of X (row i if None).

    Columns of SparseMatrix that are mostly alike are kept as the rows that differ, unless all are
    wanted ``dense``. Codes of a stream are in a file.
    """
    dense = dense or not isinstance(X, SparseMatrix)
    order = () if rows is None else (rows,)
    key = ("codes", _memory(X), id(bins), _digest(*order), dense)
    n_threads, entry = resolve_n_jobs(n_jobs), _entry(X)
    if isinstance(X, StreamedMatrix) and rows is not None:
        raise DataError("rows of a stream have the order that they have")

    def blocks() -> Iterator[BinnedMatrix]:
        if isinstance(X, SparseMatrix):
            yield _native.bin_sparse_matrix(*_entries(X), X.absent, bins, rows, dense, n_threads)
        else:
            for x in X.values.row_blocks() if isinstance(X, StreamedMatrix) else [X]:
                columns, n_given, read = _in_memory(x, rows)
                yield _native.bin_matrix(columns, n_given, bins, read, n_threads)

    def make() -> BinnedMatrix:
        if entry is None or not dense:
            return next(blocks())
        return mapped_codes(
            entry,
            f"codes-{_digest(*bins.arrays(), *order)}",
            bins,
            X.shape[0] if rows is None else len(rows),
            blocks,
            large=isinstance(X, StreamedMatrix),
        )

    return _once(key, (X, bins, rows), make)


def _new_bins(X: Any, max_bins: int, fill: npt.NDArray[np.float32], n_threads: int) -> Bins:
    bins = _found_bins(X, max_bins, fill, n_threads)
    if len(X) >= _MANY_ROWS:
        give_back_memory()  # what sorting took is not needed for learning
    return bins


def _found_bins(X: Any, max_bins: int, fill: npt.NDArray[np.float32], n_threads: int) -> Bins:
    if isinstance(X, SparseMatrix):
        return _native.find_sparse_bins(
            *_entries(X), X.n_features, X.absent, max_bins, fill, n_threads
        )
    if isinstance(X, StreamedMatrix):
        blocks = ([block] for _, block in column_blocks(X))
        return _native.find_bins(blocks, len(X), None, max_bins, fill, n_threads)
    columns, n_given, read = _in_memory(X, None)
    return _native.find_bins(columns, n_given, read, max_bins, fill, n_threads)


def _in_memory(X: Any, rows: Rows) -> tuple[Iterable[list[npt.NDArray[Any]]], int, Rows]:
    """Return blocks of columns for a kernel, how many rows they have, and which it is to read."""
    if isinstance(X, CallerMatrix):
        return X.blocks(), X.n_given, X.row_numbers(rows)
    return [[X]], len(X), rows


def _entries(X: SparseMatrix) -> tuple[Any, Any, Any]:
    return X.starts, X.columns, X.values.astype(np.float32, copy=False)


_ARRAYS = ("offsets", "cuts", "has_missing", "has_infinity", "fill")


def _entry(X: Any) -> Entry | None:
    """Where bins and codes of a matrix are kept outside of the memory of this process, or None."""
    if isinstance(X, StreamedMatrix):
        return X.entry
    memory = _REMEMBERED.get()
    if memory is None or memory.folder is None:
        return None
    folder = memory.folder
    arrays = (*_entries(X), np.array(X.absent)) if isinstance(X, SparseMatrix) else (X,)
    return _once(("entry", _memory(X)), X, lambda: CacheEntry(folder, _digest(*arrays)))


def _digest(*arrays: npt.NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}\n".encode())
        rows = array.reshape(1) if array.ndim == 0 else array
        for start in range(0, len(rows), _BLOCK):  # so that no order of memory is copied whole
            digest.update(np.ascontiguousarray(rows[start : start + _BLOCK]).data)
    return digest.hexdigest()[:16]


def _memory(array: Any) -> tuple[Any, ...]:
    if isinstance(array, SparseMatrix):
        entries = _memory(array.columns), _memory(array.values)
        return (*entries, array.shape, array.starts.tobytes(), str(array.absent))
    if isinstance(array, StreamedMatrix):
        return (id(array),)
    if isinstance(array, CallerMatrix):
        parts = [
            (id(part),) if isinstance(part, LazyColumn) else _memory(part) for part in array.parts
        ]
        return (*parts, None if array.rows is None else _memory(array.rows))
    return (array.ctypes.data, array.shape, array.strides, array.dtype.str)


def _once(key: Any, made_of: Any, make: Callable[[], Made]) -> Made:
    """Make something, unless it was made before; ``made_of`` is kept, so that keys stay true."""
    memory = _REMEMBERED.get()
    if memory is None:
        return make()
    if key not in memory.made:
        memory.made[key] = (make(), made_of)
    made: Made = memory.made[key][0]
    return made
