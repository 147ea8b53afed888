"""Features as small codes: what every grower works on."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._native import BinnedMatrix, Bins
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.cache import Arrays
from rankgrove.data.sparse import SparseFeatures
from rankgrove.data.streamed import StreamedMatrix, column_blocks
from rankgrove.errors import DataError
from rankgrove.trees.code_file import coded_stream

__all__ = ["BinnedMatrix", "Bins", "bin_matrix", "find_bins", "remembered_bins"]

Made = TypeVar("Made")

# What was binned in this context, with the arrays that it was made of; None: nothing is kept.
_REMEMBERED: ContextVar[dict[Any, Any] | None] = ContextVar("remembered_bins", default=None)


@contextlib.contextmanager
def remembered_bins() -> Iterator[None]:
    """Context in which the same matrix is never binned twice in the same way.

    Fits of several rankers on the same data share their bins and codes. A matrix is known by its
    memory, which is kept alive and must not change until the context ends.
    """
    token = _REMEMBERED.set({})
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
    X : float32 matrix with any strides, or SparseFeatures, which are not copied; or a stream
    fill : per feature, the value that stands in for NaN; NaN (the default) keeps it missing
    """
    if fill is None:
        fill = np.full(X.shape[1], np.nan, np.float32)
    n_threads = resolve_n_jobs(n_jobs)
    key = ("bins", _memory(X), max_bins, fill.tobytes())
    if isinstance(X, SparseFeatures):
        return _once(
            key,
            X,
            lambda: _native.find_sparse_bins(
                *_entries(X), X.n_features, X.absent, max_bins, fill, n_threads
            ),
        )
    if isinstance(X, StreamedMatrix):
        kept_fill = fill
        return _once(key, X, lambda: _stream_bins(X, max_bins, kept_fill, n_threads))
    return _once(key, X, lambda: _native.find_bins(X, max_bins, fill, n_threads))


def bin_matrix(
    X: Any,
    bins: Bins,
    *,
    rows: npt.NDArray[np.int64] | None = None,
    dense: bool = False,
    n_jobs: int | None = None,
) -> BinnedMatrix:
    """Replace values by bin codes; row i of the result is row ``rows[i]`` of X (row i if None).

    Columns of SparseFeatures that are mostly alike are kept as the rows that differ, unless all are
    wanted ``dense``. Codes of a stream are in a file.
    """
    key = ("codes", _memory(X), id(bins), None if rows is None else _memory(rows), dense)
    made_of = (X, bins, rows)
    n_threads = resolve_n_jobs(n_jobs)
    if isinstance(X, SparseFeatures):
        return _once(
            key,
            made_of,
            lambda: _native.bin_sparse_matrix(*_entries(X), X.absent, bins, rows, dense, n_threads),
        )
    if isinstance(X, StreamedMatrix):
        if rows is not None:
            raise DataError("rows of a stream have the order that they have")
        digest = _digest(*bins.arrays())
        return _once(key, made_of, lambda: coded_stream(X, bins, digest, n_threads))
    return _once(key, made_of, lambda: _native.bin_matrix(X, bins, rows, n_threads))


def _entries(X: SparseFeatures) -> tuple[Any, Any, Any]:
    return X.starts, X.columns, X.values.astype(np.float32, copy=False)


def _stream_bins(
    X: StreamedMatrix, max_bins: int, fill: npt.NDArray[np.float32], n_threads: int
) -> Bins:
    """Find the bins of a stream, a few columns at a time; the result is kept with it."""

    def make() -> Arrays:
        parts = []
        for begin, block in column_blocks(X):
            part = fill[begin : begin + block.shape[1]]
            parts.append(_native.find_bins(block, max_bins, part, n_threads).arrays())
        offsets, *others = zip(*parts, strict=True)
        sizes = np.concatenate([np.diff(part) for part in offsets])
        joined = [np.concatenate(arrays) for arrays in others]
        return dict(zip(_ARRAYS, [np.r_[0, np.cumsum(sizes)], *joined], strict=True))

    name = f"bins-{_digest(np.array(max_bins), fill)}"
    arrays = X.entry.arrays(name, make)
    return _native.bins_from_arrays(*(arrays[key] for key in _ARRAYS))


_ARRAYS = ("offsets", "cuts", "has_missing", "has_infinity", "fill")


def _digest(*arrays: npt.NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def _memory(array: Any) -> tuple[Any, ...]:
    if isinstance(array, SparseFeatures):
        entries = _memory(array.columns), _memory(array.values)
        return (*entries, array.shape, array.starts.tobytes(), str(array.absent))
    if isinstance(array, StreamedMatrix):
        return (id(array),)
    return (array.ctypes.data, array.shape, array.strides)


def _once(key: Any, made_of: Any, make: Callable[[], Made]) -> Made:
    """Make something, unless it was made before; ``made_of`` is kept, so that keys stay true."""
    kept = _REMEMBERED.get()
    if kept is None:
        return make()
    if key not in kept:
        kept[key] = (make(), made_of)
    made: Made = kept[key][0]
    return made
