"""Scores by walking one row through one tree at a time, as the tree format is defined."""

from __future__ import annotations

import numpy as np

from rankgrove.trees.ensemble import TreeEnsemble


def goes_left(
    ensemble: TreeEnsemble, node: int, x: float, threshold: np.ndarray | None = None
) -> bool:
    """Return whether a row with this value of the node's feature goes left."""
    sets = ensemble.category_sets
    codes = None if sets is None else sets.codes(node)
    if codes is not None:
        is_code = 0 <= x < 2**24 and x == int(x)
        return int(x) in codes if is_code else bool(ensemble.missing_left[node])
    threshold = ensemble.threshold if threshold is None else threshold
    return bool(ensemble.missing_left[node]) if np.isnan(x) else bool(x <= threshold[node])


def leaf_of(
    ensemble: TreeEnsemble, tree: int, row: np.ndarray, threshold: np.ndarray | None = None
) -> int:
    """Number of the leaf, counted from the first node of the ensemble."""
    begin = int(ensemble.tree_offsets[tree])
    node = begin
    while ensemble.left[node] >= 0:
        left = goes_left(ensemble, node, row[ensemble.feature[node]], threshold)
        node = begin + int(ensemble.left[node]) + (0 if left else 1)
    return node


def predict(ensemble: TreeEnsemble, X: np.ndarray, fill: np.ndarray | None = None) -> np.ndarray:
    """Compare in float32; float64 rows and precise thresholds in float64."""
    precise = ensemble.precise if X.dtype == np.float64 else None
    if precise is None:
        with np.errstate(over="ignore"):
            X = np.array(X).astype(np.float32)
    if fill is not None:
        filled = np.array(fill, np.float32)
        filled[ensemble.categorical_features] = np.nan
        X = np.where(np.isnan(X), filled, X)
    scores = np.tile(ensemble.base_score, (len(X), 1))
    for i, row in enumerate(X):
        for tree in range(ensemble.n_trees):
            value = ensemble.value[leaf_of(ensemble, tree, row, precise)]
            scores[i, ensemble.tree_outputs[tree]] += value * ensemble.tree_weights[tree]
    return scores[:, 0] if ensemble.n_outputs == 1 else scores
