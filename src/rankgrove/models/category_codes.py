"""Sets of categories of a model for data whose dictionaries have other codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.category_maps import codes_before
from rankgrove.data.core.columns import Columns
from rankgrove.trees.category_sets import CategorySets
from rankgrove.trees.ensemble import TreeEnsemble

_MEMBERS = 1 << 26  # truths in memory at a time


def recoded_sets(
    trees: TreeEnsemble, own: Columns, columns: Columns, where: npt.NDArray[np.int64]
) -> CategorySets | None:
    """Return the sets of the splits with the codes of other columns, of which ``where`` are own.

    A category that the model did not know goes where missing values go, as it did. The sets that
    the trees have are returned if no code differs.
    """
    sets = trees.category_sets
    if sets is None or all(
        found == columns.categories[int(where[j])] for j, found in own.categories.items()
    ):
        return sets

    def parts() -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]]:
        for j, found in own.categories.items():
            nodes = np.flatnonzero((trees.feature == j) & (sets.of_node >= 0))
            new = columns.categories[int(where[j])]
            before = codes_before(new, found, f"column {own.all_names[j]!r}")
            step = max(1, _MEMBERS // max(new.n_codes, found.n_codes, 1))
            for first in range(0, len(nodes), step):
                some = nodes[first : first + step]
                members = sets.members(some, max(found.n_codes, 1))[:, before]
                missing = trees.missing_left[some][:, None] != 0
                yield some, np.where(before < 0, missing, members)

    return CategorySets.of_members(len(trees.feature), parts())
