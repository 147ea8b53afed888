"""The tree format of all rankers: flat arrays of the nodes of all trees."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._background_call import BackgroundCall
from rankgrove.trees.category_sets import CategorySets

# Number of nodes from which copying with several threads pays off.
_NODES_FOR_THREADS = 1_000_000

# Size of an array from which numpy asks for large pages.
_NUMPY_LARGE = 1 << 22

# Arrays with an entry per node, and the dtypes that each may have; that of grown trees is last.
NODE_TYPES: dict[str, tuple[type[np.generic], ...]] = {
    "feature": (np.int16, np.int32),
    "threshold": (np.float32,),
    "left": (np.int32,),
    "missing_left": (np.uint8,),
    "value": (np.float32, np.float64),
    "count": (np.float64, np.uint32),
    "gain": (np.float32,),
}

# Arrays with an entry per tree, per boundary between trees, or per output.
TREE_TYPES: dict[str, type[np.generic]] = {
    "tree_offsets": np.int64,
    "tree_weights": np.float64,
    "tree_outputs": np.int32,
    "base_score": np.float64,
}


@dataclass(frozen=True)
class TreeEnsemble:
    """A weighted sum of trees, per output.

    The score of output o is ``base_score[o] + sum of tree_weights[t] * value[leaf]`` over the trees
    t with ``tree_outputs[t] == o``, summed in tree order in float64.

    Nodes of tree t are ``tree_offsets[t]:tree_offsets[t + 1]``; ``left`` counts from the tree's own
    root, the right child is ``left + 1``, and a child's number is greater than its parent's. A leaf
    has ``left == -1`` and ``feature == -1``. A row goes left if ``x <= threshold``, or if x is NaN
    and ``missing_left``. A split on a categorical feature has a set of categories in
    ``category_sets`` instead (its threshold is 0): a row goes left if x is the code of a category
    in the set, or if x is no code at all (NaN, say) and ``missing_left``. Models of fewer than 2^15
    features number them in 16 bits, and forests, whose trees are large, keep values in float32.
    ``count`` tells how many training documents reached a node, in uint32, or in float64 where they
    are 2^32 or more; models of libraries that add up weights instead have those, in float64.

    Trees of libraries that compare in float64 also keep their thresholds as they were, ``precise``:
    they decide where float32 could not tell a value from a threshold (see ``trees.precise``).
    """

    n_features: int
    tree_offsets: npt.NDArray[np.int64]
    tree_weights: npt.NDArray[np.float64]
    tree_outputs: npt.NDArray[np.int32]
    base_score: npt.NDArray[np.float64]
    feature: npt.NDArray[Any]  # int16 or int32
    threshold: npt.NDArray[np.float32]
    left: npt.NDArray[np.int32]
    missing_left: npt.NDArray[np.uint8]
    value: npt.NDArray[Any]  # float32 or float64
    count: npt.NDArray[Any]  # uint32 or float64
    gain: npt.NDArray[np.float32]
    precise: npt.NDArray[np.float64] | None = None
    category_sets: CategorySets | None = None

    @classmethod
    def from_trees(
        cls,
        trees: list[Any],
        n_features: int,
        *,
        weights: npt.ArrayLike = 1.0,
        outputs: npt.ArrayLike = 0,
        base_score: npt.ArrayLike = 0.0,
        value_type: type[np.floating[Any]] = np.float64,
        n_jobs: int = 1,
    ) -> TreeEnsemble:
        """Concatenate native trees; the list is emptied to free each tree once it is copied."""
        n_trees = len(trees)
        offsets = np.r_[0, np.cumsum([tree.n_nodes for tree in trees])].astype(np.int64)
        types = {name: grown for name, (*_, grown) in NODE_TYPES.items()}
        types |= {
            "feature": feature_type(n_features),
            "value": value_type,
            "count": count_type(trees),
        }
        arrays = {name: _in_small_pages(offsets[-1], dtype) for name, dtype in types.items()}
        sets = CategorySets.joined((tree.n_nodes, tree_sets(tree)) for tree in trees)

        numbers = iter(range(n_trees))  # one for all threads

        def take() -> None:
            for number in numbers:
                tree, trees[number] = trees[number], None
                for name, array in arrays.items():
                    array[offsets[number] : offsets[number + 1]] = getattr(tree, name)

        n_helpers = min(n_jobs, n_trees) - 1 if offsets[-1] >= _NODES_FOR_THREADS else 0
        helpers = [BackgroundCall(take) for _ in range(n_helpers)]
        take()
        for helper in helpers:
            helper.result()
        trees.clear()
        return cls(
            n_features=n_features,
            tree_offsets=offsets,
            tree_weights=np.broadcast_to(np.asarray(weights, np.float64), n_trees).copy(),
            tree_outputs=np.broadcast_to(np.asarray(outputs, np.int32), n_trees).copy(),
            base_score=np.atleast_1d(np.asarray(base_score, np.float64)),
            category_sets=sets,
            **arrays,
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_offsets) - 1

    @property
    def n_outputs(self) -> int:
        """Number of scores per row (1 except for multi-class rankers)."""
        return len(self.base_score)

    @property
    def n_leaves(self) -> npt.NDArray[np.int64]:
        """Number of leaves of each tree (a tree with n leaves has 2n - 1 nodes)."""
        return (np.diff(self.tree_offsets) + 1) // 2

    def head(self, n_trees: int) -> TreeEnsemble:
        """Return the first trees, as views."""
        end = self.tree_offsets[n_trees]
        return replace(
            self,
            tree_offsets=self.tree_offsets[: n_trees + 1],
            tree_weights=self.tree_weights[:n_trees],
            tree_outputs=self.tree_outputs[:n_trees],
            precise=None if self.precise is None else self.precise[:end],
            category_sets=self._sets(slice(0, end)),
            **{name: getattr(self, name)[:end] for name in NODE_TYPES},
        )

    def tail(self, first: int) -> TreeEnsemble:
        """Return the trees from number ``first`` on, with base score 0; nodes are views."""
        start = self.tree_offsets[first]
        return replace(
            self,
            tree_offsets=self.tree_offsets[first:] - start,
            tree_weights=self.tree_weights[first:],
            tree_outputs=self.tree_outputs[first:],
            base_score=np.zeros_like(self.base_score),
            precise=None if self.precise is None else self.precise[start:],
            category_sets=self._sets(slice(start, None)),
            **{name: getattr(self, name)[start:] for name in NODE_TYPES},
        )

    def _sets(self, nodes: slice) -> CategorySets | None:
        return None if self.category_sets is None else self.category_sets.take(nodes)

    @property
    def categorical_features(self) -> npt.NDArray[np.int64]:
        """The features whose splits have sets of categories, ascending."""
        if self.category_sets is None:
            return np.empty(0, np.int64)
        return np.unique(self.feature[self.category_sets.of_node >= 0]).astype(np.int64)

    def narrowed(self) -> tuple[TreeEnsemble, npt.NDArray[np.int64]]:
        """Return the same trees on the columns that splits use, and these columns' numbers."""
        inner = self.feature >= 0
        used = np.unique(self.feature[inner]).astype(np.int64)
        if len(used) == 0:
            used = np.zeros(1, np.int64)
        place = np.searchsorted(used, np.where(inner, self.feature, used[0]))
        feature = np.where(inner, place, -1).astype(feature_type(len(used)))
        return replace(self, n_features=len(used), feature=feature), used

    def followed_by(self, *others: TreeEnsemble) -> TreeEnsemble:
        """Append the trees of other ensembles with the same features and outputs."""
        for other in others:
            if (self.n_features, self.n_outputs) != (other.n_features, other.n_outputs):
                raise ValueError(
                    f"an ensemble of {other.n_features} features and {other.n_outputs} outputs "
                    f"cannot follow one of {self.n_features} and {self.n_outputs}"
                )
        parts = (self, *others)
        names = ("tree_weights", "tree_outputs", *NODE_TYPES)
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in names
        }
        starts = np.cumsum([0, *(part.tree_offsets[-1] for part in parts[:-1])])
        offsets = [part.tree_offsets[1:] + start for part, start in zip(parts, starts, strict=True)]
        return replace(
            self,
            tree_offsets=np.concatenate([[0], *offsets]).astype(np.int64),
            base_score=np.add.reduce([part.base_score for part in parts]),
            precise=_joined_precise(parts),
            category_sets=CategorySets.joined(
                (len(part.feature), part.category_sets) for part in parts
            ),
            **joined,
        )

    def importances(self, kind: str = "gain") -> npt.NDArray[np.float64]:
        """Return the sum of gains (``gain``) or the number of splits (``split``) per feature."""
        inner = self.feature >= 0
        weights = self.gain[inner].astype(np.float64) if kind == "gain" else None
        counts = np.bincount(self.feature[inner], weights, minlength=self.n_features)
        return counts.astype(np.float64)


def _in_small_pages(n: int, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Return an array of zeros, to be written once.

    For large arrays numpy asks for pages of 2 MB. In a virtual machine that gives free memory back
    to its host, such a page is likely to be new, and 400 MB of them take 0.85 s to touch; small
    pages, most of which were just freed, take 0.15 s (0.02 s if large ones are not new).
    """
    size = n * np.dtype(dtype).itemsize
    if size < _NUMPY_LARGE:
        return np.zeros(n, dtype)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, dtype)


def tree_sets(tree: Any) -> CategorySets | None:
    """Return the sets of categories of a native tree, None if it has none."""
    arrays = tree.category_sets
    return None if arrays is None else CategorySets(*arrays)


def _joined_precise(parts: Sequence[TreeEnsemble]) -> npt.NDArray[np.float64] | None:
    if all(part.precise is None for part in parts):
        return None
    return np.concatenate(
        [rounding_limit(p.threshold) if p.precise is None else p.precise for p in parts]
    )


def rounding_limit(threshold: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return the largest float64 values that round to a float32 <= the thresholds.

    ``x <= rounding_limit(t)`` in float64 is ``float32(x) <= t``, for every x.
    """
    exact = threshold.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        above = np.nextafter(threshold, np.float32(np.inf)).astype(np.float64)
        above = np.where(np.isinf(above), 2.0**128, above)
        middle = exact + (above - exact) / 2
        down = middle.astype(np.float32) > threshold  # ties round to even
    limit = np.where(down, np.nextafter(middle, -np.inf), middle)
    return np.where(np.isinf(exact), exact, limit)


def count_type(trees: Sequence[Any]) -> type[np.generic]:
    """Return the dtype that holds the numbers of rows of native trees."""
    most = max((int(tree.count[0]) for tree in trees), default=0)
    return np.uint32 if most <= np.iinfo(np.uint32).max else np.float64


def feature_type(n_features: int) -> type[np.generic]:
    """Return the smallest integer dtype that can index the features."""
    return np.int16 if n_features <= np.iinfo(np.int16).max else np.int32
