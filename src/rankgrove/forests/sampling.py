"""Samples of documents for each tree of a forest, and of features for each node."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]

MAX_SAMPLE = 2**31 - 1

# Of whole queries and of documents, without and with replacement (RF paper, section 4.1.2).
SAMPLINGS = ("queries", "documents", "bootstrap", "bootstrap-queries")


@dataclass(frozen=True)
class TreeSample:
    """The sample of a tree.

    Attributes
    ----------
    sampling : what is drawn and how, one of SAMPLINGS
    size : how many are drawn, from those of all workers
    weights : chance of each query or document of this worker, in grouped order; None: all the same
    """

    sampling: str
    size: int
    weights: Floats | None = None

    @classmethod
    def of(
        cls,
        data: RankingInput,
        shard: RowShard,
        subsample: float,
        sampling: str,
        weights: Floats | None = None,
    ) -> TreeSample:
        """Build a sample from the parameters of a forest; ``weights`` are those of documents."""
        n_units = shard.n_rows
        if sampling in ("queries", "bootstrap-queries"):
            offsets = data.filled_offsets
            n_units = shard.n_nonempty_queries
            if weights is not None and len(weights):
                weights = np.add.reduceat(weights, offsets[:-1]) / np.diff(offsets)
        if sampling in ("bootstrap", "bootstrap-queries"):
            return cls(sampling, _share(subsample, n_units), weights)
        if weights is not None:
            n_units = int(shard.sum((weights > 0).sum()))
        return cls(sampling, min(_share(subsample, n_units), n_units), weights)

    @property
    def with_replacement(self) -> bool:
        """Whether a query or document can be drawn several times."""
        return self.sampling in ("bootstrap", "bootstrap-queries")

    def most_documents(self, n_rows: int, longest_query: int) -> int:
        """Return how many documents a sample of all workers can have."""
        if self.sampling == "bootstrap":
            return self.size
        return self.size * longest_query if self.sampling == "bootstrap-queries" else n_rows

    def native(self, shard: RowShard) -> _native.ForestSample:
        """Return the sampling options of the native grower; a collective call."""
        if shard.single_worker:
            return _native.ForestSample(self.sampling, self.size, self.weights)
        first, n_units = shard.first_row, shard.n_rows
        if self.sampling in ("queries", "bootstrap-queries"):
            first, n_units = shard.first_nonempty_query, shard.n_nonempty_queries
        if self.weights is None:
            return _native.ForestSample(
                self.sampling, self.size, None, (first, n_units, 0.0, 0.0, False)
            )
        if not self.with_replacement:
            weights = shard.gather(self.weights)
            return _native.ForestSample(
                self.sampling, self.size, weights, (first, n_units, 0.0, 0.0, False)
            )
        before, total = _cumulated(self.weights, shard)
        assert shard.communicator is not None
        some = np.flatnonzero(shard.gather(np.array([float((self.weights > 0).any())])))
        has_last = bool(len(some)) and int(some[-1]) == shard.communicator.rank
        return _native.ForestSample(
            self.sampling, self.size, self.weights, (first, n_units, before, total, has_last)
        )


def _cumulated(weights: Floats, shard: RowShard) -> tuple[float, float]:
    """Return the sum of the weights before this worker's, and of all, added one by one."""
    assert shard.communicator is not None
    before = running = 0.0
    for rank in range(shard.communicator.size):
        own = 0.0
        if rank == shard.communicator.rank:
            before, own = running, float(np.cumsum(np.r_[running, weights])[-1])
        running = float(shard.gather(np.array([own]))[rank])
    return before, running


def _share(subsample: float, n_units: int) -> int:
    """Convert a share (up to 1) or a number (above 1) of units to a number, at least 1."""
    if subsample <= 1:
        return max(1, round(float(subsample) * n_units))
    return int(subsample)


def n_candidates(max_features: Any, n_features: int) -> int:
    """Return the number of features that a node tries."""
    if max_features is None or max_features == "all":
        return n_features
    if max_features == "log2":
        return int(math.log2(n_features)) + 1
    if max_features == "sqrt":
        return max(1, math.isqrt(n_features))
    if isinstance(max_features, float | np.floating):
        return max(1, round(float(max_features) * n_features))
    return min(int(max_features), n_features)
