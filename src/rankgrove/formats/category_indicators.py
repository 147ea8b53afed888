"""Sets of categories as features of 0 and 1, for targets whose features are numbers.

A split on categories asks whether a value is in a set. A search engine can answer that by a query
(``terms``), which becomes a feature of its own: 1 if a document's value is in the set, else 0, also
if it has no value or one that training did not see. (One feature per category would need a chain
of splits per set, each with a copy of the subtree below.) Equal sets share a feature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import Value
from rankgrove.data.core.names import unused_name
from rankgrove.formats.plain_trees import PlainTree, PlainTrees, with_missing_right


@dataclass(frozen=True)
class Indicator:
    """A feature that is 1 for documents whose value is in a set of categories.

    Attributes
    ----------
    name : of the feature
    field : name of the categorical column
    values : the set
    column : number of the categorical column in the model
    codes : of the values
    """

    name: str
    field: str
    values: tuple[Value, ...]
    column: int
    codes: npt.NDArray[np.int64]


@dataclass(frozen=True)
class IndicatorFeatures:
    """The features of a target: the model's numeric columns, and indicators after them."""

    numeric: tuple[int, ...]
    indicators: tuple[Indicator, ...]

    def matrix(self, X: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
        """Return the features of documents that are given by the columns of the model."""
        found = [np.isin(X[:, one.column], one.codes) for one in self.indicators]
        return np.column_stack([X[:, list(self.numeric)], *found]).astype(X.dtype)


def with_indicators(plain: PlainTrees) -> tuple[PlainTrees, IndicatorFeatures]:
    """Return trees whose categorical splits are thresholds on indicators; names are required."""
    given = plain.names
    assert given is not None
    plain = with_missing_right(plain)
    numeric = tuple(j for j in range(plain.n_features) if j not in plain.categories)
    names = [given[j] for j in numeric]
    taken = [*given]
    found: dict[tuple[int, bytes], int] = {}
    indicators: list[Indicator] = []
    for tree in plain.trees:
        for node, codes in tree.left_codes.items():
            column = int(tree.feature[node])
            if (column, codes.tobytes()) in found:
                continue
            found[column, codes.tobytes()] = len(numeric) + len(indicators)
            field, known = given[column], plain.categories[column]
            number = 1 + sum(one.column == column for one in indicators)
            name = unused_name(f"{field}_in_{number}", taken)
            taken.append(name)
            values = tuple(known[code] for code in codes.tolist())
            indicators.append(Indicator(name, field, values, column, codes))
    place = np.full(plain.n_features, -1)
    place[list(numeric)] = np.arange(len(numeric))
    changed = replace(
        plain,
        names=(*names, *(one.name for one in indicators)),
        n_features=len(numeric) + len(indicators),
        trees=tuple(_tree(tree, place, found) for tree in plain.trees),
        categories={},
    )
    return changed, IndicatorFeatures(numeric, tuple(indicators))


def _tree(
    tree: PlainTree, place: npt.NDArray[np.int64], found: dict[tuple[int, bytes], int]
) -> PlainTree:
    """Return a tree on the new features: 0, and a missing value, goes left, 1 goes right."""
    feature = np.where(tree.feature >= 0, place[tree.feature], -1)
    left, right = tree.left.copy(), tree.right.copy()
    threshold, precise = tree.threshold.copy(), tree.precise.copy()
    missing = tree.missing_left.copy()
    for node, codes in tree.left_codes.items():
        feature[node] = found[int(tree.feature[node]), codes.tobytes()]
        left[node], right[node] = tree.right[node], tree.left[node]
        threshold[node] = precise[node] = 0.5
        missing[node] = True
    return replace(
        tree,
        feature=feature,
        threshold=threshold,
        precise=precise,
        left=left,
        right=right,
        missing_left=missing,
        left_codes={},
    )
