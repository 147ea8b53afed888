"""Which rows a tree sees when it learns from a part of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.data.queries import QueryGroups


@dataclass(frozen=True)
class RowSampler:
    """Draws queries with all their documents, or single documents, without replacement.

    Attributes
    ----------
    groups : the queries of the training data
    share : part of the queries or documents that each tree sees; at least one
    unit : ``"queries"`` or ``"documents"``
    seed : each (seed, iteration) gives its own draw
    """

    groups: QueryGroups
    share: float
    unit: str
    seed: int

    def draw(self, iteration: int) -> npt.NDArray[np.int32] | None:
        """Rows of this iteration in grouped order, ascending; None means all."""
        if self.share >= 1.0:
            return None
        rng = np.random.default_rng([self.seed, iteration])
        if self.unit == "documents":
            return self._pick(rng, self.groups.n_rows).astype(np.int32)
        chosen = np.zeros(self.groups.n_queries, bool)
        filled = np.flatnonzero(self.groups.sizes)
        chosen[filled[self._pick(rng, len(filled))]] = True
        return np.flatnonzero(np.repeat(chosen, self.groups.sizes)).astype(np.int32)

    def _pick(self, rng: np.random.Generator, total: int) -> npt.NDArray[np.int64]:
        size = max(1, round(self.share * total))
        return np.sort(rng.choice(total, size, replace=False, shuffle=False))
