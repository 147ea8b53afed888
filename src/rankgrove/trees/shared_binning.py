"""Bins of a matrix whose rows are sharded over workers: the same as with all rows on one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.matrix.dense import as_matrix
from rankgrove.data.matrix.feature_matrix import Array, FeatureMatrix
from rankgrove.trees.bin_cache import cached_bins
from rankgrove.trees.binning import Bins, categorical_bins, find_bins
from rankgrove.workers.column_exchange import whole_columns
from rankgrove.workers.row_shard import RowShard


def shared_bins(
    X: FeatureMatrix | Array,
    shard: RowShard,
    *,
    max_bins: int,
    binning: str = "quantile",
    fill: npt.NDArray[np.float32] | None,
    n_jobs: int | None,
) -> Bins:
    """Find each feature's bins from the rows of all workers; see ``find_bins``.

    Each feature's values go to one worker, which finds its bins and sends them to the others.
    """
    X = as_matrix(X)
    if shard.communicator is None:
        return cached_bins(X, max_bins=max_bins, binning=binning, fill=fill, n_jobs=n_jobs)
    if fill is None:
        fill = np.full(X.shape[1], np.nan, np.float32)
    features: list[int] = []
    cuts: list[npt.NDArray[np.float32]] = []
    flags: list[tuple[int, int]] = []  # whether values are missing, and whether one is infinite
    for own, columns in whole_columns(X, shard):
        if own.start == own.stop:
            continue
        bins = find_bins(columns, max_bins=max_bins, binning=binning, fill=fill[own], n_jobs=n_jobs)
        offsets, values, missing, infinity, *_ = bins.arrays()
        features += range(own.start, own.stop)
        cuts += np.split(values, offsets[1:-1])
        flags += zip(missing.tolist(), infinity.tolist(), strict=True)
    lengths = np.array([len(one) for one in cuts], np.int64)
    table = np.array([[f, n, *two] for f, n, two in zip(features, lengths, flags, strict=True)])
    rows = _gathered(shard, table.astype(np.int64)).reshape(-1, 4)
    values = _gathered(shard, np.concatenate([np.empty(0, np.float32), *cuts]))
    order = np.argsort(rows[:, 0])
    by_feature = np.split(values, np.cumsum(rows[:-1, 1]))
    bins = _native.bins_from_arrays(
        np.r_[0, np.cumsum(rows[order, 1])].astype(np.int64),
        np.concatenate([by_feature[i] for i in order]),
        rows[order, 2].astype(np.uint8),
        rows[order, 3].astype(np.uint8),
        np.ascontiguousarray(fill, np.float32),
        np.empty(0, np.uint8),
    )
    return categorical_bins(bins, X)


def _gathered(shard: RowShard, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    assert shard.communicator is not None
    parts = shard.communicator.gather(np.ascontiguousarray(values).tobytes())
    return np.concatenate([np.frombuffer(part, values.dtype) for part in parts])
