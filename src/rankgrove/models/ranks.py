"""The ranks that a model gives to documents, as scores: what blends by rank add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import ModelError
from rankgrove.models.model import (
    Arrays,
    Floats,
    Matrix,
    Model,
    kind,
    pack_model,
    unpack_model,
    with_prefix,
    without_prefix,
)


@kind("ranks")
@dataclass(frozen=True, eq=False, kw_only=True)
class RanksModel(Model):
    """Scores a document by its place in its query: from 0 for the last to 1 for the first.

    Of n documents, one with a documents of lower score and t others of equal score has
    ``(a + t / 2) / (n - 1)``; a document alone has 0.5.

    Attributes
    ----------
    inner : the model that ranks
    """

    inner: Model

    @property
    def needs_queries(self) -> bool:
        """True: a place depends on the other documents of the query."""
        return True

    @property
    def constant(self) -> bool:
        """Whether the inner model is."""
        return self.inner.constant

    @property
    def size(self) -> str:
        """Size of the inner model."""
        return f"{self.inner.size}, by rank"

    def uncertain(self, X: Matrix) -> int:
        """Return the count of the inner model."""
        return self.inner.uncertain(X)

    def work(self, n_rows: int, groups: QueryGroups | None = None) -> int:
        """Return the work of the inner model."""
        return self.inner.work(n_rows, groups)

    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Return the place of each row."""
        lists = self.lists(groups)
        return places(self.inner.scores(X, lists, n_jobs), lists)

    def importances(self, kind: str) -> Floats:
        """Return the importances of the inner model."""
        return self.inner.importances(kind)

    def with_columns(self, columns: Columns) -> RanksModel:
        """Return the model for data with these columns."""
        return replace(self, columns=columns, inner=self.inner.with_columns(columns))

    def get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state of the inner model."""
        values, arrays = pack_model(self.inner)
        return {"inner": values}, with_prefix("inner", arrays)

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, columns: Columns) -> RanksModel:
        """Build the inner model."""
        inner = unpack_model(values["inner"], without_prefix("inner", arrays))
        if inner.columns != columns:
            raise ModelError("the ranking model has other columns")
        return cls(columns=columns, inner=inner)


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
