"""Memoised binning: within a context, the same matrix is binned only once.

Codes of streamed matrices are always kept in the cache entry of the stream: in a file, or in memory
if the stream is small and has no cache folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._native import BinnedMatrix, Bins
from rankgrove.data.matrix.cache import CacheEntry, FolderCacheEntry
from rankgrove.data.matrix.dense import as_matrix
from rankgrove.data.matrix.feature_matrix import Array, FeatureMatrix
from rankgrove.trees.binning import bin_blocks, find_bins, no_fill
from rankgrove.trees.code_file import codes_in_memory, mapped_codes

Made = TypeVar("Made")
_BLOCK = 1 << 14  # rows per update of a digest
_ARRAYS = ("offsets", "cuts", "has_missing", "has_infinity", "fill", "categorical")


@dataclass(frozen=True)
class _Memo:
    """Memoised results by key, each with its arguments, and the folder of the on-disk cache.

    ``codes`` says whether codes are kept, or bins alone. The lock keeps threads from making the
    same bins side by side.
    """

    made: dict[Any, Any]
    folder: Path | None
    codes: bool = True
    lock: Any = field(default_factory=threading.RLock)


# None: nothing is memoised.
_MEMO: ContextVar[_Memo | None] = ContextVar("bin_cache", default=None)


@contextlib.contextmanager
def bin_cache(folder: Path | None = None) -> Iterator[None]:
    """Context in which the same matrix is never binned twice in the same way.

    Fits of several rankers on the same data share their bins and codes. The key of a matrix is its
    memory address and layout; the matrix is kept alive and must not change until the context ends.

    Parameters
    ----------
    folder : where bins and codes are shared with other processes; the key there is a digest of the
        values. Sparse codes are not shared.
    """
    token = _MEMO.set(_Memo({}, folder))
    try:
        yield
    finally:
        _MEMO.reset(token)


@contextlib.contextmanager
def bins_of_samples() -> Iterator[None]:
    """Context for fits on samples of one matrix: they share its bins, and their codes are freed."""
    outer = _MEMO.get()
    made = {} if outer is None else dict(outer.made)
    token = _MEMO.set(_Memo(made, None, codes=False))
    try:
        yield
    finally:
        _MEMO.reset(token)


def cached_bins(
    X: FeatureMatrix | Array,
    *,
    max_bins: int = 255,
    binning: str = "quantile",
    fill: npt.NDArray[np.float32] | None = None,
    n_jobs: int | None = None,
) -> Bins:
    """Find each feature's bins (see ``find_bins``), or return those that were found before."""
    matrix = as_matrix(X)
    kept_fill = no_fill(matrix.n_columns) if fill is None else fill
    entry = _entry(matrix)

    def make() -> Bins:
        return find_bins(matrix, max_bins=max_bins, binning=binning, fill=kept_fill, n_jobs=n_jobs)

    def make_in_file() -> Bins:
        assert entry is not None
        arrays = entry.arrays(
            ("bins-" if binning == "quantile" else f"bins-{binning}-")
            + _digest(np.array(max_bins), kept_fill, *_sizes(matrix)),
            lambda: dict(zip(_ARRAYS, make().arrays(), strict=True)),
        )
        return _native.bins_from_arrays(*(arrays[name] for name in _ARRAYS))

    sizes = tuple(size.tobytes() for size in _sizes(matrix))
    key = ("bins", matrix.memory_key(), max_bins, binning, kept_fill.tobytes(), sizes)
    return _memoised(key, matrix, make if entry is None else make_in_file)


def cached_codes(
    X: FeatureMatrix | Array,
    bins: Bins,
    *,
    rows: npt.NDArray[np.int64] | None = None,
    dense: bool = False,
    n_jobs: int | None = None,
) -> BinnedMatrix:
    """Replace values by bin codes (see ``bin_blocks``), or return those that were made before."""
    matrix = as_matrix(X)
    dense = dense or matrix.entries is None
    order = () if rows is None else (rows,)
    entry = _entry(matrix)

    def blocks() -> Iterator[BinnedMatrix]:
        return bin_blocks(matrix, bins, rows=rows, dense=dense, n_jobs=n_jobs)

    def make() -> BinnedMatrix:
        if entry is None or not dense:
            return next(blocks())
        name = f"codes-{_digest(*bins.arrays(), *order)}"
        n_rows = len(matrix) if rows is None else len(rows)
        if not (matrix.on_disk or entry.outlives_process):
            return codes_in_memory(entry, name, bins, n_rows, blocks)
        return mapped_codes(entry, name, bins, n_rows, blocks, large=matrix.on_disk)

    memo = _MEMO.get()
    if memo is not None and not memo.codes:
        return make()
    key = ("codes", matrix.memory_key(), id(bins), _digest(*order), dense)
    return _memoised(key, (matrix, bins, rows), make)


def _sizes(X: FeatureMatrix) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the numbers of categories by column; nothing if there are none."""
    if not X.categories:
        return ()
    pairs = sorted((column, found.n_codes) for column, found in X.categories.items())
    return (np.array(pairs, np.int64),)


def _entry(X: FeatureMatrix) -> CacheEntry | None:
    """Return the cache entry on disk for bins and codes of a matrix; None: they stay in memory."""
    if X.cache is not None:
        return X.cache
    memo = _MEMO.get()
    if memo is None or memo.folder is None:
        return None
    folder = memo.folder

    def make() -> CacheEntry:
        return FolderCacheEntry(folder, digest_of(chain([np.array(X.shape)], X.arrays())))

    return _memoised(("entry", X.memory_key()), X, make)


def _digest(*arrays: npt.NDArray[Any]) -> str:
    return digest_of(arrays)


def digest_of(arrays: Iterable[npt.NDArray[Any]]) -> str:
    """Return a digest of types, shapes and values."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}\n".encode())
        rows = array.reshape(1) if array.ndim == 0 else array
        for start in range(0, len(rows), _BLOCK):  # one contiguous block at a time
            digest.update(np.ascontiguousarray(rows[start : start + _BLOCK]).data)
    return digest.hexdigest()[:16]


def _memoised(key: Any, made_of: Any, make: Callable[[], Made]) -> Made:
    """Return the memoised result of a key, or make it; ``made_of`` is kept alive with it."""
    memo = _MEMO.get()
    if memo is None:
        return make()
    with memo.lock:
        if key not in memo.made:
            memo.made[key] = (make(), made_of)
        made: Made = memo.made[key][0]
    return made
