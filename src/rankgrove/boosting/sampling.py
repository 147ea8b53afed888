"""Which rows a tree sees when it learns from a part of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.share import Share


@dataclass(frozen=True)
class RowSampler:
    """Draws queries with all their documents, or single documents, without replacement.

    Every worker draws from the queries or documents of all, and keeps those that it has.

    Attributes
    ----------
    groups : the queries of this worker
    share : which part of all queries these are
    part : part of the queries or documents that each tree sees; at least one
    unit : ``"queries"`` or ``"documents"``
    seed : each (seed, iteration) gives its own draw
    """

    groups: QueryGroups
    share: Share
    part: float
    unit: str
    seed: int

    def draw(self, iteration: int) -> npt.NDArray[np.int32] | None:
        """Rows of this iteration in grouped order, ascending; None means all."""
        if self.part >= 1.0:
            return None
        rng = np.random.default_rng([self.seed, iteration])
        share = self.share
        if self.unit == "documents":
            drawn = self._pick(rng, share.n_rows, share.first_row, self.groups.n_rows)
            return drawn.astype(np.int32)
        chosen = np.zeros(self.groups.n_queries, bool)
        filled = np.flatnonzero(self.groups.sizes)
        chosen[filled[self._pick(rng, share.n_filled, share.first_filled, len(filled))]] = True
        return np.flatnonzero(np.repeat(chosen, self.groups.sizes)).astype(np.int32)

    def _pick(
        self, rng: np.random.Generator, total: int, first: int, n_own: int
    ) -> npt.NDArray[np.int64]:
        """Draw from ``total``; return those among the ``n_own`` from ``first`` on, from 0."""
        size = max(1, round(self.part * total))
        drawn = np.sort(rng.choice(total, size, replace=False, shuffle=False))
        begin, end = np.searchsorted(drawn, [first, first + n_own])
        return drawn[begin:end] - first
