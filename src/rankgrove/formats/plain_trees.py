"""Intermediate form of models for export: plain trees with fill values and weights folded in.

A fill of missing values is folded into the directions of splits, tree weights into leaf values. So
a score is the base score plus one value per tree, added in the order of the trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import CategoriesByColumn, Value
from rankgrove.data.core.names import numbering
from rankgrove.errors import ModelError
from rankgrove.models.model import Model
from rankgrove.models.trees import TreesModel
from rankgrove.trees.ensemble import TreeEnsemble, rounding_limit
from rankgrove.trees.links import ScalarLink

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

_DEEPEST = 400  # levels; JSON parsers stop at about 1000 nested brackets
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class PlainTree:
    """One tree; node 0 is the root, and children come after their parents.

    Attributes
    ----------
    feature : column that a node asks, -1 for a leaf
    threshold : float32: a value goes left if, as float32, it is <= threshold
    precise : the same for float64 values
    left, right : children, -1 for a leaf
    missing_left : whether a missing value goes left
    value : what a leaf adds to the score (of a split: what it would add as a leaf)
    count : training rows that reached a node, or the sum of their weights
    gain : improvement by the split
    left_codes : for each split on categories, the codes that go left; a missing value, and what is
        no code, goes as ``missing_left`` says
    """

    feature: Ints
    threshold: npt.NDArray[np.float32]
    precise: Doubles
    left: Ints
    right: Ints
    missing_left: npt.NDArray[np.bool_]
    value: Doubles
    count: Doubles
    gain: Doubles
    left_codes: Mapping[int, Ints] = field(default_factory=dict)

    @property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Which nodes are leaves."""
        return self.left < 0

    def cover(self, least: float) -> Doubles:
        """Return the counts as readers divide by them: no leaf has less than ``least``.

        Oblivious trees have leaves that no training row reached. The counts of a tree with such
        leaves are sums from the leaves up; others are as they are.
        """
        leaf = self.is_leaf
        if (self.count[leaf] >= least).all():
            return self.count
        cover = np.where(leaf, np.maximum(self.count, least), 0.0)
        parent = np.full(len(leaf), -1)
        parent[self.left[~leaf]] = parent[self.right[~leaf]] = np.flatnonzero(~leaf)
        level = np.flatnonzero(leaf)
        amount = cover[level]
        while len(level):  # every leaf adds to all nodes above it
            level, amount = parent[level], amount[parent[level] >= 0]
            level = level[level >= 0]
            np.add.at(cover, level, amount)
        return cover


@dataclass(frozen=True)
class PlainTrees:
    """A sum of trees.

    Attributes
    ----------
    names : of the features; None if they have none
    n_features : their number
    trees : in the order in which they are added
    base_score : the score before the first tree
    link : ``identity``, ``sigmoid`` or ``exp``: what the sum goes through
    missing_up_to : see ``TreesModel``
    missing_is_zero : whether missing values go where 0 goes
    says_missing_is_zero : whether the file is to say so, for targets that have a word for it
    categories : the values of categorical columns, by the number of the column; a value's code is
        its index. Each of a model's pooled values has a code of its own here.
    ranges : lowest and highest value of features in the training data, of those that are known
    """

    names: tuple[str, ...] | None
    n_features: int
    trees: tuple[PlainTree, ...]
    base_score: float
    link: str
    missing_up_to: npt.NDArray[np.float32] | None
    missing_is_zero: bool = False
    says_missing_is_zero: bool = False
    categories: Mapping[int, tuple[Value, ...]] = field(default_factory=dict)
    ranges: Mapping[int, Sequence[float]] = field(default_factory=dict)

    def with_base_in_leaves(self) -> PlainTrees:
        """Return the same sum with the base score added to leaves, for targets without base scores.

        The first addition, base score plus first tree, is made here, so no rounding changes.
        """
        if self.base_score == 0.0 and self.trees:
            return self
        first = self.trees[0] if self.trees else _leaf()
        first = replace(first, value=first.value + self.base_score)
        return replace(self, trees=(first, *self.trees[1:]), base_score=0.0)

    def at_least_zero(self) -> tuple[PlainTrees, float]:
        """Return trees in whose float32 sums no score is negative, and the number that was added.

        A last tree of one leaf adds it. Rounding does not turn an order, so documents keep theirs
        (scores that are nearly equal may become equal).
        """
        folded = self.with_base_in_leaves()
        lowest = np.float32(0.0)
        for tree in folded.trees:
            lowest = np.float32(lowest + np.float32(tree.value[tree.is_leaf].min()))
        if lowest >= 0 or self.link != "identity":
            return self, 0.0
        shift = replace(_leaf(), value=np.array([-float(lowest)]))
        return replace(folded, trees=(*folded.trees, shift)), -float(lowest)

    def used_names(self) -> list[str]:
        """Names of the features that splits use."""
        assert self.names is not None
        used = {int(f) for tree in self.trees for f in np.unique(tree.feature) if f >= 0}
        return [self.names[feature] for feature in sorted(used)]


def plain_trees(model: Model) -> PlainTrees:
    """Convert a model to plain trees; refuse models that are not one sum of trees on documents."""
    if not isinstance(model, TreesModel):
        reasons = {
            "pairs": "it scores a document against the others of its query",
            "linear": "it has weights, not trees",
            "sum": "its parts are not all trees: blend trees alone",
        }
        why = reasons.get(model.kind, "it is no sum of trees")
        raise model.refusal("be exported as trees", why)
    if model.ensemble.n_outputs != 1 or not isinstance(model.link, ScalarLink):
        raise model.refusal(
            "be exported",
            f"its score is made of {model.ensemble.n_outputs} outputs, and no target has a place "
            "for that",
        )
    ensemble = model.without_fill().ensemble
    precise = ensemble.precise
    if precise is None:
        precise = rounding_limit(ensemble.threshold)
    trees = []
    for number in range(ensemble.n_trees):
        nodes = slice(ensemble.tree_offsets[number], ensemble.tree_offsets[number + 1])
        left = ensemble.left[nodes].astype(np.int64)
        value = ensemble.tree_weights[number] * ensemble.value[nodes].astype(np.float64)
        trees.append(
            PlainTree(
                feature=ensemble.feature[nodes].astype(np.int64),
                threshold=ensemble.threshold[nodes],
                precise=precise[nodes],
                left=left,
                right=np.where(left < 0, -1, left + 1),
                missing_left=ensemble.missing_left[nodes] != 0,
                value=value,
                count=ensemble.count[nodes].astype(np.float64),
                gain=ensemble.gain[nodes].astype(np.float64),
                left_codes=_left_codes(ensemble, nodes, model.columns.categories),
            )
        )
        if not np.isfinite(value).all():
            raise ModelError(f"tree {number} has a weighted value that is not finite")
    return PlainTrees(
        names=model.columns.names,
        n_features=model.columns.count,
        trees=tuple(trees),
        base_score=float(ensemble.base_score[0]),
        link=model.link.name,
        missing_up_to=model.missing_up_to,
        categories={
            j: (*found.values, *found.pooled) for j, found in model.columns.categories.items()
        },
    )


def _left_codes(
    ensemble: TreeEnsemble, nodes: slice, categories: CategoriesByColumn
) -> dict[int, Ints]:
    """Return the codes that each split on categories of a tree sends left."""
    sets = ensemble.category_sets
    if sets is None:
        return {}
    found = {}
    for node in np.flatnonzero(sets.of_node[nodes] >= 0).tolist():
        codes = sets.codes(nodes.start + node)
        assert codes is not None
        known = categories[int(ensemble.feature[nodes.start + node])]
        pool = len(known.values)
        if known.pooled and pool in codes:
            codes = np.r_[codes[codes < pool], pool + np.arange(len(known.pooled))]
        found[node] = codes
    return found


def with_missing_right(plain: PlainTrees) -> PlainTrees:
    """Swap the children of splits on categories that send missing values left.

    Then each sends the codes of ``left_codes`` left and all others, unknown and missing ones
    included, right.
    """
    trees = []
    for tree in plain.trees:
        left, right, missing = tree.left.copy(), tree.right.copy(), tree.missing_left.copy()
        codes = dict(tree.left_codes)
        for node in tree.left_codes:
            if missing[node]:
                left[node], right[node] = right[node], left[node]
                every = np.arange(len(plain.categories[int(tree.feature[node])]))
                codes[node] = np.setdiff1d(every, codes[node])
                missing[node] = False
        swapped = replace(tree, left=left, right=right, missing_left=missing, left_codes=codes)
        trees.append(_without_idle_splits(swapped))
    return replace(plain, trees=tuple(trees))


def _without_idle_splits(tree: PlainTree) -> PlainTree:
    """Put the right child in the place of splits on categories that send no code left."""
    idle = [node for node, codes in tree.left_codes.items() if len(codes) == 0]
    if not idle:
        return tree
    place = np.arange(len(tree.left) + 1)  # the last entry is that of -1
    place[-1] = -1
    for node in sorted(idle, reverse=True):
        place[node] = place[tree.right[node]]
    return breadth_first(replace(tree, left=place[tree.left], right=place[tree.right]), place[0])


def breadth_first(tree: PlainTree, root: int = 0) -> PlainTree:
    """Return the nodes below a root level by level, siblings side by side."""
    levels = [np.array([root])]
    while len(inner := levels[-1][tree.left[levels[-1]] >= 0]):
        levels.append(np.stack([tree.left[inner], tree.right[inner]], axis=1).reshape(-1))
    order = np.concatenate(levels)
    number = np.full(len(tree.left) + 1, -1)  # the last entry is that of -1
    number[order] = np.arange(len(order))
    arrays = {
        f.name: getattr(tree, f.name)[order]
        for f in fields(tree)
        if f.name not in ("left", "right", "left_codes")
    }
    codes = {int(number[node]): some for node, some in tree.left_codes.items() if number[node] >= 0}
    return PlainTree(
        **arrays,
        left=number[tree.left[order]],
        right=number[tree.right[order]],
        left_codes=codes,
    )


def missing_as_zero(plain: PlainTrees) -> PlainTrees:
    """Send missing values to the child to which 0 goes."""
    trees = [replace(tree, missing_left=_zero_left(tree)) for tree in plain.trees]
    return replace(plain, trees=tuple(trees), missing_is_zero=True)


def distinguishes_missing_from_zero(plain: PlainTrees) -> bool:
    """Return whether a split sends missing values and 0 to different children."""
    return any((tree.missing_left != _zero_left(tree)).any() for tree in plain.trees)


def _zero_left(tree: PlainTree) -> npt.NDArray[np.bool_]:
    left = ~tree.is_leaf & (tree.threshold >= 0)
    of_categories = list(tree.left_codes)
    left[of_categories] = tree.missing_left[of_categories]  # 0 is a code like others
    return left


def strictly_below(threshold: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return c so that ``x < c`` is ``x <= threshold`` for finite float32 x, and c is finite.

    Only the largest float32 itself goes the other way at a threshold of that size.
    """
    with np.errstate(over="ignore"):
        above = np.nextafter(threshold, np.float32(np.inf))
    return np.asarray(np.minimum(above, np.float32(_LARGEST)))


def float32_values(plain: PlainTrees, target: str) -> None:
    """Refuse leaf values that a target of float32 cannot hold."""
    for number, tree in enumerate(plain.trees):
        large = np.abs(tree.value[tree.is_leaf]) > _LARGEST
        if large.any():
            raise ModelError(
                f"tree {number} has a leaf of {tree.value[tree.is_leaf][large][0]:g}, which the "
                f"float32 numbers of {target} cannot hold"
            )


def nested(
    tree: PlainTree,
    leaf: Callable[[int], Any],
    split: Callable[[int, Any, Any], Any],
    target: str,
) -> Any:
    """Build a tree of objects from the leaves up: ``leaf(node)``, ``split(node, left, right)``."""
    depth = np.zeros(len(tree.left), np.int64)
    for node in np.flatnonzero(~tree.is_leaf):
        depth[tree.left[node]] = depth[tree.right[node]] = depth[node] + 1
    if depth.max() > _DEEPEST:
        raise ModelError(
            f"a tree has {depth.max()} levels: readers of {target} take about {_DEEPEST}; train "
            "with max_depth"
        )
    built: dict[int, Any] = {}
    children = list(zip(tree.left.tolist(), tree.right.tolist(), strict=True))
    for number, (left, right) in reversed(list(enumerate(children))):
        if left < 0:
            built[number] = leaf(number)
        else:
            built[number] = split(number, built.pop(left), built.pop(right))
    return built[0]


def _leaf() -> PlainTree:
    whole = np.full(1, -1, np.int64)
    zero = np.zeros(1)
    return PlainTree(
        feature=whole,
        threshold=np.zeros(1, np.float32),
        precise=zero,
        left=whole,
        right=whole,
        missing_left=np.zeros(1, bool),
        value=zero,
        count=np.ones(1),
        gain=zero,
    )


def names_or_refusal(names: Sequence[str] | None, target: str) -> tuple[str, ...]:
    """Return the feature names; raise ModelError if there are none, for targets that need names."""
    if names is None:
        raise ModelError(
            f"{target} knows features by name, and this model has none: give feature_names"
        )
    return tuple(names)


def refuse_numbers(names: Sequence[str], target: str) -> None:
    """Refuse names that only number the columns, which nobody gave (LETOR text, arrays)."""
    if numbering(names) is not None:
        raise ModelError(
            f"{target} knows features by name, and the names of this model ({names[0]}, ...) only "
            "number its columns: give feature_names (these again, if the features of the target "
            "are really called so)"
        )
