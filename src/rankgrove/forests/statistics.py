"""Statistics of the trees of a forest: leaves, their size and score, depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.trees.ensemble import TreeEnsemble

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TreeStatistics:
    """One value per tree.

    Attributes
    ----------
    n_leaves : number of leaves
    leaf_size : mean number of training documents in a leaf
    leaf_score : mean score of the leaves
    depth : splits on the way to the deepest leaf
    """

    n_leaves: npt.NDArray[np.int64]
    leaf_size: Floats
    leaf_score: Floats
    depth: npt.NDArray[np.int64]

    def means(self) -> dict[str, float]:
        """Averages over the trees."""
        return {
            "n_leaves": float(self.n_leaves.mean()),
            "leaf_size": float(self.leaf_size.mean()),
            "leaf_score": float(self.leaf_score.mean()),
            "depth": float(self.depth.mean()),
        }


def tree_statistics(ensemble: TreeEnsemble) -> TreeStatistics:
    """Measure each tree of an ensemble."""
    starts = ensemble.tree_offsets[:-1]
    leaf = ensemble.left < 0
    n_leaves = np.add.reduceat(leaf, starts, dtype=np.int64)
    size = np.add.reduceat(np.where(leaf, ensemble.count, 0), starts, dtype=np.float64)
    score = np.add.reduceat(np.where(leaf, ensemble.value, 0.0), starts)
    return TreeStatistics(n_leaves, size / n_leaves, score / n_leaves, _depths(ensemble))


def _depths(ensemble: TreeEnsemble) -> npt.NDArray[np.int64]:
    """Return the depth of each tree, computed level by level for all trees at once."""
    depth = np.zeros(ensemble.n_trees, np.int64)
    level = ensemble.tree_offsets[:-1]
    tree = np.arange(ensemble.n_trees)
    while True:
        inner = ensemble.left[level] >= 0
        if not inner.any():
            return depth
        tree = tree[inner]
        depth[np.unique(tree)] += 1
        left = ensemble.tree_offsets[tree] + ensemble.left[level[inner]]
        level, tree = np.r_[left, left + 1], np.r_[tree, tree]
