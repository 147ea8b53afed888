"""Growing of regression trees on gradients and Hessians."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._native import BinnedMatrix, Tree
from rankgrove._threads import resolve_n_jobs
from rankgrove.trees.category_rules import CategoryRules
from rankgrove.workers.row_shard import RowShard

__all__ = ["SplitCriterion", "Tree", "TreeGrower", "add_leaf_values", "apply_binned"]


Floats = npt.NDArray[np.float64]
SplitCriterion = Callable[[Floats, Floats, Floats, Floats], Floats]


class TreeGrower:
    """Grows one tree after the other on a binned matrix.

    With G and H the sums of gradients and Hessians of a node, a split gains
    ``G_l² / (H_l + l2) + G_r² / (H_r + l2) - G² / (H + l2)`` and a leaf has the value
    ``-G / (H + l2)``.
    With ``l1 > 0``, each G is first drawn towards 0 by l1 (and is 0 if ``|G| <= l1``).

    Parameters
    ----------
    tree : "leafwise" splits the leaf with the greatest gain next, "levelwise" goes level by level,
        "oblivious" takes one rule per level for all its nodes (depth 1 to 12)
    max_leaf_nodes : most leaves (node-by-node growth)
    max_depth : most splits on the way to a leaf; None for no limit (required if oblivious)
    min_samples_leaf, min_child_weight : least rows and least Hessian sum of a child. An oblivious
        tree splits every node of a level, however small: a rule gains nothing in nodes of which it
        would make a smaller child, and a smaller leaf has the value of the nearest node above
        that is large enough
    l1, l2, min_gain : regularisation of leaf values and Newton gains, and the gain that a split
        must exceed
    criterion : "newton" as above, or "least_squares" to choose splits as if every Hessian were 1
        and l2 were 0 (a regression tree fitted to the gradients), or a function
        ``gain(G_left, H_left, G_right, H_right)`` of float64 arrays, one entry per candidate split
        of a feature, that returns the gains; leaf values are Newton steps in any case
    max_features_tree, max_features : share of the features drawn per tree, and of these per node
        (per level, if oblivious)
    monotone : per feature 1 (leaf values must not fall as it grows), -1 (must not rise) or 0
    interactions : groups of features, as lists of their numbers: those on the way to a leaf are
        all in one group; a feature in no group is alone. None: no limits
    categories : how categorical features are split
    missing_branch : whether missing values are a third child of a split, which is written as two
        binary splits on the same feature (is there a value, and which one) and counts as one level
    shard : position of the matrix among the rows of all workers; None: it holds all rows
    """

    def __init__(
        self,
        binned: BinnedMatrix,
        *,
        tree: str = "leafwise",
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        min_child_weight: float = 0.0,
        l1: float = 0.0,
        l2: float = 0.0,
        min_gain: float = 0.0,
        criterion: str | SplitCriterion = "newton",
        max_features_tree: float = 1.0,
        max_features: float = 1.0,
        monotone: npt.ArrayLike | None = None,
        interactions: Sequence[Sequence[int]] | None = None,
        categories: CategoryRules | None = None,
        missing_branch: bool = False,
        n_jobs: int | None = None,
        shard: RowShard | None = None,
    ) -> None:
        if not callable(criterion) and criterion not in ("newton", "least_squares"):
            raise ValueError(
                f"criterion must be 'newton', 'least_squares' or a function, not {criterion!r}"
            )
        self.binned = binned
        options = _native.GrowOptions(
            tree=tree,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_child_weight=min_child_weight,
            l1=l1,
            l2=l2,
            min_gain=min_gain,
            least_squares_splits=criterion == "least_squares",
            max_features_tree=max_features_tree,
            max_features_node=max_features,
            monotone=None if monotone is None else np.ascontiguousarray(monotone, np.int8),
            interactions=None
            if interactions is None
            else _group_bits(interactions, binned.n_features),
            criterion=criterion if callable(criterion) else None,
            categories=(categories or CategoryRules()).native(),
            missing_branch=missing_branch,
        )
        self._grower = _native.TreeGrower(
            binned,
            options,
            resolve_n_jobs(n_jobs),
            None if shard is None else shard.reducer,
            0 if shard is None else shard.first_row,
            binned.n_rows if shard is None else shard.n_rows,
        )

    def grow(
        self,
        gradients: npt.NDArray[np.float32],
        hessians: npt.NDArray[np.float32] | None,
        *,
        rows: npt.NDArray[np.int32] | None = None,
        seed: int = 0,
        random_strength: float = 0.0,
    ) -> Tree:
        """Grow a tree on ``rows`` (ascending; all if None). No Hessians means 1 for every row.

        ``random_strength`` adds noise to the scores of splits before they are compared: normal
        numbers of the standard deviation ``random_strength * sqrt(sum of g² / sum of h)`` to the
        root of a split's score.
        """
        return self._grower.grow(gradients, hessians, rows, seed, random_strength)

    @property
    def leaf_of_row(self) -> npt.NDArray[np.int32]:
        """The leaf of every row of the matrix, rows outside the sample included.

        A view that the next tree overwrites.
        """
        return self._grower.leaf_of_row


def _group_bits(groups: Sequence[Sequence[int]], n_features: int) -> npt.NDArray[np.uint64]:
    """Return a bit set per feature: bit g is set if it is in group g; others form single groups."""
    listed = {feature for group in groups for feature in group}
    alone = [[feature] for feature in range(n_features) if feature not in listed]
    every = [*groups, *alone]
    member = np.zeros((n_features, -(-len(every) // 64) * 64), np.uint8)
    for number, group in enumerate(every):
        member[list(group), number] = 1
    return np.packbits(member, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def apply_binned(
    tree: Tree, binned: BinnedMatrix, n_jobs: int | None = None
) -> npt.NDArray[np.int32]:
    """Return the leaf of each row of a matrix with the bins of the training data."""
    return tree.apply_binned(binned, resolve_n_jobs(n_jobs))


def add_leaf_values(
    scores: npt.NDArray[np.float64],
    leaf_of_row: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    n_jobs: int | None = None,
) -> None:
    """Add each row's leaf value to its score, in place."""
    _native.add_leaf_values(scores, leaf_of_row, values, resolve_n_jobs(n_jobs))
