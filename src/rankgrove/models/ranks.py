"""The ranks that a model gives to documents, as scores: what blends by rank add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.models.model import Arrays, Floats, Matrix, kind
from rankgrove.models.wrapper import WrapperModel


@kind("ranks")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RanksModel(WrapperModel):
    """Scores a document by its place in its query: from 0 for the last to 1 for the first.

    Of n documents, one with a documents of lower score and t others of equal score has
    ``(a + t / 2) / (n - 1)``; a document alone has 0.5.
    """

    @property
    def needs_queries(self) -> bool:
        """True: a place depends on the other documents of the query."""
        return True

    @property
    def size(self) -> str:
        """Size of the inner model."""
        return f"{self.inner.size}, by rank"

    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Return the place of each row."""
        lists = self.lists(groups)
        return places(self.inner.scores(X, lists, n_jobs), lists)

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, columns: Columns) -> RanksModel:
        """Build the inner model."""
        return cls(columns=columns, inner=cls.inner_model(values, arrays, columns))


def places(scores: Floats, groups: QueryGroups) -> Floats:
    """Return the place of each row in its query, from 0 (last) to 1 (first); ties share theirs."""
    grouped = groups.grouped(scores)
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    order = np.lexsort((grouped, query))
    ordered, of_query = grouped[order], query[order]
    new = np.r_[True, (ordered[1:] != ordered[:-1]) | (of_query[1:] != of_query[:-1])][
        : len(ordered)
    ]
    starts = np.flatnonzero(new)
    tie = np.cumsum(new) - 1
    ends = np.r_[starts[1:], len(ordered)]
    middle = (starts + ends - 1)[tie] / 2 - groups.offsets[of_query]
    others = groups.sizes[of_query] - 1
    result = np.empty(len(ordered))
    result[order] = np.where(others > 0, middle / np.maximum(others, 1), 0.5)
    return groups.restored(result)
