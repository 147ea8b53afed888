"""Binning: conversion of feature values to small integer codes, on which trees are grown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._memory import release_memory
from rankgrove._native import BinnedMatrix, Bins
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.categories import MAX_CATEGORIES
from rankgrove.data.matrix.dense import as_matrix
from rankgrove.data.matrix.feature_matrix import Array, FeatureMatrix
from rankgrove.errors import DataError

__all__ = ["BinnedMatrix", "Bins", "bin_blocks", "bin_matrix", "find_bins"]

_MANY_ROWS = 1 << 18  # above this size, the memory of sorted columns is returned to the system


def find_bins(
    X: FeatureMatrix | Array,
    *,
    max_bins: int = 255,
    binning: str = "quantile",
    fill: npt.NDArray[np.float32] | None = None,
    n_jobs: int | None = None,
) -> Bins:
    """Find each feature's bins from training data.

    A feature with at most ``max_bins`` distinct values gets one bin per value. Others get bins of
    about equal numbers of rows, in which frequent values have a bin of their own (``"quantile"``),
    or bins that are divided one after the other, always the one whose division adds most to the sum
    of the logarithms of bins' numbers of rows (``"greedy-log-sum"``). Thresholds are
    float32 mid-points strictly between two observed values (the lower value itself where the two
    are neighbours in float32). Up to 255 bins are stored in one byte per value, up to 65534 in two.

    Parameters
    ----------
    X : the features; an array of float32, float64 or whole numbers may have any strides and is
        not copied. A categorical column gets one bin per category
    fill : per feature, the value that stands in for NaN; NaN (the default) keeps it missing
    """
    X = as_matrix(X)
    if fill is None:
        fill = no_fill(X.n_columns)
    bins = _found_bins(X, max_bins, binning, fill, resolve_n_jobs(n_jobs))
    bins = categorical_bins(bins, X)
    if len(X) >= _MANY_ROWS:
        release_memory()  # training does not need the memory of the sort
    return bins


def categorical_bins(bins: Bins, X: FeatureMatrix) -> Bins:
    """Return the bins of a categorical column, one per category.

    Such a column always has a bin of missing values, and no fill value replaces them.
    """
    if not X.categories:
        return bins
    offsets, cuts, has_missing, has_infinity, fill, _ = bins.arrays()
    by_feature = np.split(cuts, offsets[1:-1])
    categorical = np.zeros(bins.n_features, np.uint8)
    for column, categories in X.categories.items():
        if categories.n_codes > MAX_CATEGORIES:
            name = X.names[column] if X.names is not None else column
            raise DataError(
                f"column {name!r} has {categories.n_codes} categories: trees are grown on up to "
                f"{MAX_CATEGORIES}"
            )
        by_feature[column] = np.arange(0.5, categories.n_codes - 1, dtype=np.float32)
        categorical[column], has_missing[column], has_infinity[column] = 1, 1, 0
        fill[column] = np.nan
    return _native.bins_from_arrays(
        np.cumsum([0, *map(len, by_feature)], dtype=np.int64),
        np.concatenate(by_feature),
        has_missing,
        has_infinity,
        fill,
        categorical,
    )


def saw_missing(bins: Bins) -> bool | None:
    """Return whether a value was missing in the data; None if fill values have replaced it."""
    _, _, has_missing, _, fill, categorical = bins.arrays()
    numbers = has_missing if not len(categorical) else has_missing[categorical == 0]
    if numbers.any():
        return True
    return False if np.isnan(fill).all() else None


def no_fill(n_features: int) -> npt.NDArray[np.float32]:
    """Return fill values (NaN) that leave missing values missing."""
    return np.full(n_features, np.nan, np.float32)


def bin_matrix(
    X: FeatureMatrix | Array,
    bins: Bins,
    *,
    rows: npt.NDArray[np.int64] | None = None,
    dense: bool = False,
    n_jobs: int | None = None,
) -> BinnedMatrix:
    """Replace the values of a matrix in memory by bin codes; parameters as in ``bin_blocks``."""
    if as_matrix(X).cache is not None:
        raise TypeError("codes of a stream are kept in a file: use bin_cache.cached_codes")
    return next(bin_blocks(X, bins, rows=rows, dense=dense, n_jobs=n_jobs))


def bin_blocks(
    X: FeatureMatrix | Array,
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
    dense : whether columns of a sparse matrix that are mostly alike are stored in full; by default
        only the rows that differ are kept
    """
    n_threads = resolve_n_jobs(n_jobs)
    X = as_matrix(X)
    if X.entries is not None:
        yield _native.bin_sparse_matrix(*X.entries, bins, rows, dense, n_threads)
        return
    if X.cache is not None and rows is not None:
        raise DataError("rows of a stream have the order that they have")
    for batch in [X] if X.cache is None else X.batches():
        columns, n_given, read = batch.kernel_columns(rows)
        yield _native.bin_matrix(columns, n_given, bins, read, n_threads)


def _found_bins(
    X: FeatureMatrix, max_bins: int, binning: str, fill: npt.NDArray[np.float32], n_threads: int
) -> Bins:
    if X.entries is not None:
        starts, columns, values, absent = X.entries
        return _native.find_sparse_bins(
            starts, columns, values, X.n_columns, absent, max_bins, binning, fill, n_threads
        )
    blocks, n_given, read = X.kernel_columns()
    return _native.find_bins(blocks, n_given, read, max_bins, binning, fill, n_threads)
