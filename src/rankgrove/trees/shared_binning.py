"""Bins of a matrix whose rows are sharded over workers: the same as with all rows on one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.matrix.dense import as_matrix
from rankgrove.data.matrix.feature_matrix import Array, FeatureMatrix
from rankgrove.trees.bin_cache import cached_bins
from rankgrove.trees.binning import Bins, categorical_bins
from rankgrove.workers.row_shard import RowShard
from rankgrove.workers.run_exchange import (
    ColumnSummary,
    Counts,
    Keys,
    RunConsumer,
    RunExchange,
)


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

    Each feature's values go to one worker, which finds its bins and sends them to the others; see
    ``workers/run_exchange.py``. With ``shard.bin_error``, they are approximate.
    """
    X = as_matrix(X)
    if shard.communicator is None:
        return cached_bins(X, max_bins=max_bins, binning=binning, fill=fill, n_jobs=n_jobs)
    if fill is None:
        fill = np.full(X.shape[1], np.nan, np.float32)
    exchange = RunExchange(
        X, shard.communicator, fill, frequent=max_bins, error=shard.bin_error, n_jobs=n_jobs
    )
    found = exchange.run(lambda _, summary: _OwnedBins(summary, max_bins, binning))
    cuts = [one.bins.cuts() for one in found.values()]
    table = np.array(
        [
            [j, len(own), one.has_missing, one.bins.has_infinity]
            for (j, one), own in zip(found.items(), cuts, strict=True)
        ],
        np.int64,
    )
    rows = _gathered(shard, table).reshape(-1, 4)
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


class _OwnedBins(RunConsumer):
    """The bins of a column that this worker owns."""

    def __init__(self, summary: ColumnSummary, max_bins: int, binning: str) -> None:
        self.has_missing = summary.n_missing > 0
        self.bins = _native.RunBins(
            max_bins, binning, summary.frequent_keys, summary.frequent_counts, summary.n_rows
        )

    def add(self, keys: Keys, counts: Counts) -> None:
        """Take the runs of a range."""
        self.bins.add(keys, counts)


def _gathered(shard: RowShard, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    assert shard.communicator is not None
    parts = shard.communicator.gather(np.ascontiguousarray(values).tobytes())
    return np.concatenate([np.frombuffer(part, values.dtype) for part in parts])
