"""Conversion of the node arrays of other libraries to a TreeEnsemble."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import MOST_CODES, Categories
from rankgrove.errors import DataError, ModelError
from rankgrove.trees.category_sets import CategorySets
from rankgrove.trees.ensemble import TreeEnsemble, feature_type
from rankgrove.trees.scorer import check_ensemble

# Exceptions that a file of unexpected structure raises while it is read.
NONSENSE = (
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    OverflowError,
    RecursionError,
)

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ForeignTree:
    """One tree with its nodes in any order; node 0 is the root.

    ``left`` and ``right`` are the children's numbers, -1 for a leaf. ``threshold`` is such that a
    float32 value goes left exactly if it is <= threshold; ``precise`` says the same of float64
    values, where the library compares those. ``count`` is the number of training documents at a
    node, or the sum of their weights. ``left_codes`` has the codes that splits on categories send
    left; missing and unknown values go as ``missing_left`` says.
    """

    feature: Ints
    threshold: npt.NDArray[np.float32]
    left: Ints
    right: Ints
    missing_left: npt.NDArray[Any]
    value: Doubles
    count: npt.NDArray[Any]
    gain: npt.NDArray[Any]
    precise: Doubles | None = None
    left_codes: Mapping[int, Ints] = field(default_factory=dict)


def to_ensemble(
    trees: list[ForeignTree],
    n_features: int,
    *,
    weights: npt.ArrayLike = 1.0,
    base_score: float = 0.0,
) -> TreeEnsemble:
    """Lay out trees breadth first, siblings side by side, and check them."""
    sizes = np.array([len(tree.feature) for tree in trees], np.int64)
    starts = np.r_[0, np.cumsum(sizes)].astype(np.int64)

    def stacked(name: str, dtype: type) -> npt.NDArray[Any]:
        arrays = [np.asarray(getattr(tree, name)) for tree in trees]
        if any(array.shape != (size,) for array, size in zip(arrays, sizes, strict=True)):
            raise ModelError(f"the {name} values do not match the number of nodes")
        return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype)

    left, right = stacked("left", np.int64), stacked("right", np.int64)
    order, new_left = _breadth_first(left, right, starts)
    leaf = left[order] < 0
    feature = np.where(leaf, -1, stacked("feature", np.int64)[order])
    # Check the numbers before they are narrowed to smaller integer types and wrap around.
    wrong = np.flatnonzero(~leaf & ((feature < 0) | (feature >= n_features)))
    if len(wrong):
        raise ModelError(
            f"a node asks for feature {feature[wrong[0]]}, but there are {n_features} features"
        )
    sets = _category_sets(trees, order, starts)
    with_set = np.zeros(len(order), bool) if sets is None else sets.of_node >= 0
    ensemble = TreeEnsemble(
        n_features=n_features,
        category_sets=sets,
        tree_offsets=starts,
        tree_weights=np.broadcast_to(np.asarray(weights, np.float64), len(trees)).copy(),
        tree_outputs=np.zeros(len(trees), np.int32),
        base_score=np.array([base_score], np.float64),
        feature=feature.astype(feature_type(n_features)),
        threshold=np.where(leaf | with_set, 0, stacked("threshold", np.float32)[order]).astype(
            np.float32
        ),
        left=new_left.astype(np.int32),
        missing_left=(stacked("missing_left", np.uint8)[order] & ~leaf).astype(np.uint8),
        value=stacked("value", np.float64)[order],
        count=_counts(stacked("count", np.float64)[order]),
        gain=np.where(leaf, 0, np.nan_to_num(stacked("gain", np.float32)[order])).astype(
            np.float32
        ),
        precise=(
            None
            if not trees or any(tree.precise is None for tree in trees)
            else np.where(leaf | with_set, 0.0, stacked("precise", np.float64)[order])
        ),
    )
    check_ensemble(ensemble)
    return ensemble


def _category_sets(trees: list[ForeignTree], order: Ints, starts: Ints) -> CategorySets | None:
    """Return the sets of all trees, whose nodes have a new order."""
    if not any(tree.left_codes for tree in trees):
        return None
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    codes: list[list[int] | None] = [None] * len(order)
    for tree, start in zip(trees, starts.tolist(), strict=False):
        for node, some in tree.left_codes.items():
            codes[position[start + node]] = some.tolist()
    return CategorySets.of_codes(codes)


def _counts(count: Doubles) -> npt.NDArray[Any]:
    """Convert counts to uint32; leave sums of weights that are no whole numbers unchanged."""
    whole = np.clip(count, 0, 2**32 - 1).astype(np.uint32)
    return whole if np.array_equal(whole, count) else count


def reachable(tree: ForeignTree) -> ForeignTree:
    """Return a tree without its unreachable nodes."""
    n_nodes = len(tree.left)
    kept = np.zeros(n_nodes, bool)
    level = np.zeros(1, np.int64)
    while len(level):
        if level.max() >= n_nodes or kept[level].any():
            raise ModelError("a node is out of range, or the child of two nodes")
        kept[level] = True
        inner = level[tree.left[level] >= 0]
        level = np.concatenate([tree.left[inner], tree.right[inner]])
        if (level < 0).any():
            raise ModelError("a node has one child")
    number = np.cumsum(kept) - 1

    def renumbered(child: Ints) -> Ints:
        return np.where(child[kept] >= 0, number[np.maximum(child[kept], 0)], -1)

    cut = {
        one.name: getattr(tree, one.name)[kept]
        for one in fields(tree)
        if one.name != "left_codes" and getattr(tree, one.name) is not None
    }
    codes = {int(number[node]): some for node, some in tree.left_codes.items() if kept[node]}
    children = {"left": renumbered(tree.left), "right": renumbered(tree.right)}
    return replace(tree, **{**cut, **children, "left_codes": codes})


def _breadth_first(left: Ints, right: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """Return the old node numbers in breadth-first order, and the new left children."""
    n_nodes, n_trees = int(starts[-1]), len(starts) - 1
    tree_of = np.repeat(np.arange(n_trees), np.diff(starts))
    split = left >= 0
    sizes = np.diff(starts)[tree_of]
    wrong = np.where(split, (left >= sizes) | (right >= sizes) | (right < 0), right >= 0)
    if wrong.any():
        node = int(np.flatnonzero(wrong)[0])
        raise ModelError(
            f"node {node - starts[tree_of[node]]} of tree {tree_of[node]} has the children "
            f"{left[node]} and {right[node]}"
        )
    level = starts[:-1]
    levels = [level]
    seen = np.zeros(n_nodes, bool)
    seen[level] = True
    while len(level := level[split[level]]):
        children = np.stack([left[level], right[level]], axis=1) + starts[tree_of[level]][:, None]
        level = children.reshape(-1)
        if seen[level].any() or len(np.unique(level)) < len(level):
            raise ModelError("a node is the child of two nodes, or of one of its descendants")
        seen[level] = True
        levels.append(level)
    if not seen.all():
        node = int(np.flatnonzero(~seen)[0])
        raise ModelError(
            f"node {node - starts[tree_of[node]]} of tree {tree_of[node]} cannot be reached"
        )
    found = np.concatenate(levels)
    order = found[np.argsort(tree_of[found], kind="stable")]
    position = np.empty(n_nodes, np.int64)
    position[order] = np.arange(n_nodes)
    start = starts[tree_of[order]]
    safe_left = np.where(split[order], left[order] + start, 0)
    return order, np.where(split[order], position[safe_left] - start, -1)


def rounded_down(threshold: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Round float64 thresholds down to float32: ``x <= t`` agrees for every float32 x."""
    exact = np.asarray(threshold, np.float64)
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
        lower = np.nextafter(near, np.float32(-np.inf))
    return np.where(near > exact, lower, near)


def next_below(threshold: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return the next float32 below each threshold: ``x < t`` is ``x <= next_below(t)``."""
    with np.errstate(over="ignore"):
        lower: npt.NDArray[np.float32] = np.nextafter(
            np.asarray(threshold, np.float32), np.float32(-np.inf)
        )
    return lower


# Categories that a file knows by their largest number alone; one more number costs memory.
_MOST_NUMBERS = 1 << 20


class ForeignCategories:
    """The values of a categorical column in the order of another library's codes."""

    def __init__(self, values: Iterable[Any], name: str) -> None:
        if isinstance(values, range) and len(values) > _MOST_NUMBERS:
            raise ModelError(
                f"column {name!r}: the category {values[-1]} is beyond {_MOST_NUMBERS - 1}"
            )
        given = [_whole(value) for value in values]
        try:
            self.categories = Categories.of(given, limit=MOST_CODES)
        except DataError as error:
            raise ModelError(f"column {name!r}: {error}") from error
        self._codes = np.array([self.categories.code(value) for value in given], np.int64)

    def codes(self, foreign: npt.ArrayLike) -> Ints:
        """Return our codes of the other library's; those that it has no value for are left out."""
        numbers = np.asarray(foreign, np.int64)
        known = numbers[(numbers >= 0) & (numbers < len(self._codes))]
        return np.sort(self._codes[known])

    def others(self, foreign: npt.ArrayLike) -> Ints:
        """Return all other codes."""
        return np.setdiff1d(np.arange(len(self._codes)), self.codes(foreign))


def _whole(value: Any) -> Any:
    """Return a whole float as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
