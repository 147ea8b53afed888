"""Thresholds on statistics of categories, as sets of categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.models.model import Model
from rankgrove.models.sums import SumModel
from rankgrove.models.trees import TreesModel
from rankgrove.trees.category_sets import CategorySets
from rankgrove.trees.ensemble import TreeEnsemble, feature_type

Table = tuple[int, npt.NDArray[np.float32], np.float32]
_MEMBERS = 1 << 26  # truths in memory at a time


def folded(model: Model, columns: Columns, kept: Sequence[int], tables: Sequence[Table]) -> Model:
    """Return a model of columns and statistics of categories as a model of the columns alone.

    Parameters
    ----------
    model : its features are the ``kept`` columns, and after them one statistic per table
    columns : the columns of the result
    tables : for each statistic, the number of its column, the value of each code, and the value of
        a missing category
    """
    if isinstance(model, SumModel):
        parts = tuple(folded(part, columns, kept, tables) for part in model.parts)
        return replace(model, columns=columns, parts=parts)
    if not isinstance(model, TreesModel):
        raise model.refusal("split by ordered target statistics", "it is no sum of trees")
    trees = model.ensemble
    column = np.array([*kept, *(j for j, _, _ in tables)], np.int64)
    inner = trees.feature >= 0
    statistic = np.where(inner, trees.feature.astype(np.int64) - len(kept), -1)
    missing_left = trees.missing_left.copy()
    for number, (_, _, prior) in enumerate(tables):
        nodes = statistic == number
        missing_left[nodes] = prior <= trees.threshold[nodes]
    ensemble = replace(
        trees,
        n_features=columns.count,
        feature=np.where(inner, column[trees.feature], -1).astype(feature_type(columns.count)),
        threshold=np.where(statistic >= 0, 0, trees.threshold).astype(np.float32),
        missing_left=missing_left,
        category_sets=CategorySets.of_members(
            len(trees.feature), _members(trees, statistic, columns, kept, tables)
        ),
    )
    fill = model.fill
    if fill is not None:
        fill = np.full(columns.count, np.nan, np.float32)
        assert model.fill is not None
        fill[list(kept)] = model.fill[: len(kept)]
    return replace(model, columns=columns, ensemble=ensemble, fill=fill)


def _members(
    trees: TreeEnsemble,
    statistic: npt.NDArray[np.int64],
    columns: Columns,
    kept: Sequence[int],
    tables: Sequence[Table],
) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]]:
    """Yield nodes with the codes that they send left: sets that are there, and thresholds."""
    sets = trees.category_sets
    for feature, j in enumerate(kept):
        if sets is not None and j in columns.categories:
            nodes = np.flatnonzero((trees.feature == feature) & (sets.of_node >= 0))
            for some in _chunks(nodes, columns.categories[j].n_codes):
                yield some, sets.members(some, max(columns.categories[j].n_codes, 1))
    for number, (_, table, _) in enumerate(tables):
        for some in _chunks(np.flatnonzero(statistic == number), len(table)):
            yield some, table <= trees.threshold[some][:, None]


def _chunks(nodes: npt.NDArray[Any], n_codes: int) -> Iterator[npt.NDArray[Any]]:
    step = max(1, _MEMBERS // max(n_codes, 1))
    for first in range(0, len(nodes), step):
        yield nodes[first : first + step]
