"""Scores by walking one row through one tree at a time, as the tree format is defined."""

from __future__ import annotations

import numpy as np

from rankgrove.trees.ensemble import TreeEnsemble


def leaf_of(
    ensemble: TreeEnsemble, tree: int, row: np.ndarray, threshold: np.ndarray | None = None
) -> int:
    """Number of the leaf, counted from the first node of the ensemble."""
    threshold = ensemble.threshold if threshold is None else threshold
    begin = int(ensemble.tree_offsets[tree])
    node = begin
    while ensemble.left[node] >= 0:
        x = row[ensemble.feature[node]]
        goes_left = bool(ensemble.missing_left[node]) if np.isnan(x) else x <= threshold[node]
        node = begin + int(ensemble.left[node]) + (0 if goes_left else 1)
    return node


def predict(ensemble: TreeEnsemble, X: np.ndarray, fill: np.ndarray | None = None) -> np.ndarray:
    """Compare in float32; float64 rows and precise thresholds in float64."""
    precise = ensemble.precise if X.dtype == np.float64 else None
    if precise is None:
        with np.errstate(over="ignore"):
            X = np.array(X).astype(np.float32)
    if fill is not None:
        X = np.where(np.isnan(X), np.asarray(fill, np.float32), X)
    scores = np.tile(ensemble.base_score, (len(X), 1))
    for i, row in enumerate(X):
        for tree in range(ensemble.n_trees):
            value = ensemble.value[leaf_of(ensemble, tree, row, precise)]
            scores[i, ensemble.tree_outputs[tree]] += value * ensemble.tree_weights[tree]
    return scores[:, 0] if ensemble.n_outputs == 1 else scores
