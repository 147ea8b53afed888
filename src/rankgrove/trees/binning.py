"""Binning: features as small integer codes, on which all growers work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._memory import give_back_memory
from rankgrove._native import BinnedMatrix, Bins
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.matrix.caller_matrix import CallerMatrix
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.data.matrix.streamed import StreamedMatrix, column_blocks
from rankgrove.errors import DataError

__all__ = ["BinnedMatrix", "Bins", "bin_blocks", "bin_matrix", "find_bins"]

Rows = npt.NDArray[np.int64] | None
_MANY_ROWS = 1 << 18  # from here on, the memory of sorted columns is returned to the system


def find_bins(
    X: Any,
    *,
    max_bins: int = 255,
    fill: npt.NDArray[np.float32] | None = None,
    n_jobs: int | None = None,
) -> Bins:
    """Find each feature's bins from training data.

    A feature with at most ``max_bins`` distinct values gets one bin per value; others get bins of
    about equal numbers of rows, in which frequent values have a bin of their own. Thresholds are
    float32 mid-points strictly between two observed values (the lower value itself where the two
    are neighbours in float32). Up to 255 bins are stored in one byte per value, up to 65534 in two.

    Parameters
    ----------
    X : matrix of float32, float64 or whole numbers with any strides, CallerMatrix or SparseMatrix,
        which are not copied; or a stream
    fill : per feature, the value that stands in for NaN; NaN (the default) keeps it missing
    """
    if fill is None:
        fill = no_fill(X.shape[1])
    bins = _found_bins(X, max_bins, fill, resolve_n_jobs(n_jobs))
    if len(X) >= _MANY_ROWS:
        give_back_memory()  # what sorting took is not needed for learning
    return bins


def no_fill(n_features: int) -> npt.NDArray[np.float32]:
    """Return the fill that keeps missing values missing."""
    return np.full(n_features, np.nan, np.float32)


def bin_matrix(
    X: Any,
    bins: Bins,
    *,
    rows: npt.NDArray[np.int64] | None = None,
    dense: bool = False,
    n_jobs: int | None = None,
) -> BinnedMatrix:
    """Replace the values of a matrix in memory by bin codes; parameters as in ``bin_blocks``."""
    if isinstance(X, StreamedMatrix):
        raise TypeError("codes of a stream are kept in a file: use bin_cache.cached_codes")
    return next(bin_blocks(X, bins, rows=rows, dense=dense, n_jobs=n_jobs))


def bin_blocks(
    X: Any,
    bins: Bins,
    *,
    rows: npt.NDArray[np.int64] | None = None,
    dense: bool = False,
    n_jobs: int | None = None,
) -> Iterator[BinnedMatrix]:
    """Replace values by bin codes, block by block; a matrix in memory is one block.

    Parameters
    ----------
    rows : row i of the result is row ``rows[i]`` of X; None: row i
    dense : whether columns of a SparseMatrix that are mostly alike are stored in full; by default
        only the rows that differ are kept
    """
    n_threads = resolve_n_jobs(n_jobs)
    if isinstance(X, SparseMatrix):
        yield _native.bin_sparse_matrix(*sparse_entries(X), X.absent, bins, rows, dense, n_threads)
        return
    if isinstance(X, StreamedMatrix) and rows is not None:
        raise DataError("rows of a stream have the order that they have")
    for x in X.values.row_blocks() if isinstance(X, StreamedMatrix) else [X]:
        columns, n_given, read = _in_memory(x, rows)
        yield _native.bin_matrix(columns, n_given, bins, read, n_threads)


def _found_bins(X: Any, max_bins: int, fill: npt.NDArray[np.float32], n_threads: int) -> Bins:
    if isinstance(X, SparseMatrix):
        return _native.find_sparse_bins(
            *sparse_entries(X), X.n_features, X.absent, max_bins, fill, n_threads
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


def sparse_entries(X: SparseMatrix) -> tuple[Any, Any, Any]:
    """Return row starts, columns and float32 values of the stored entries."""
    return X.starts, X.columns, X.values.astype(np.float32, copy=False)
