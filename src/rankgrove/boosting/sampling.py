"""Row subsampling: the rows on which each tree is grown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.workers.row_shard import RowShard


@dataclass(frozen=True)
class RowSampler:
    """Draws queries with all their documents, or single documents, without replacement.

    Every worker draws from the queries or documents of all, and keeps those that it has.

    Attributes
    ----------
    groups : the queries of this worker
    shard : position of these queries among those of all workers
    part : part of the queries or documents that each tree sees; at least one
    unit : ``"queries"`` or ``"documents"``
    seed : each (seed, iteration) gives its own draw
    """

    groups: QueryGroups
    shard: RowShard
    part: float
    unit: str
    seed: int

    def draw(self, iteration: int) -> npt.NDArray[np.int32] | None:
        """Return the rows of this iteration in grouped order, ascending; None means all."""
        if self.part >= 1.0:
            return None
        rng = np.random.default_rng([self.seed, iteration])
        shard = self.shard
        if self.unit == "documents":
            drawn = self._pick(rng, shard.n_rows, shard.first_row, self.groups.n_rows)
            return drawn.astype(np.int32)
        chosen = np.zeros(self.groups.n_queries, bool)
        filled = np.flatnonzero(self.groups.sizes)
        n_all, first = shard.n_nonempty_queries, shard.first_nonempty_query
        chosen[filled[self._pick(rng, n_all, first, len(filled))]] = True
        return np.flatnonzero(np.repeat(chosen, self.groups.sizes)).astype(np.int32)

    def _pick(
        self, rng: np.random.Generator, total: int, first: int, n_own: int
    ) -> npt.NDArray[np.int64]:
        """Sample from ``total``; return those of ``first : first + n_own``, minus ``first``."""
        size = max(1, round(self.part * total))
        drawn = np.sort(rng.choice(total, size, replace=False, shuffle=False))
        begin, end = np.searchsorted(drawn, [first, first + n_own])
        return drawn[begin:end] - first
