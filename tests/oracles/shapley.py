"""Shapley values by their definition: all subsets of features, one row and one tree at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import factorial

import numpy as np

from oracles.scoring import goes_left
from rankgrove.trees.ensemble import TreeEnsemble


def known_value(
    trees: TreeEnsemble, tree: int, row: np.ndarray, known: frozenset[int], node: int = 0
) -> float:
    """Value of a tree of which only some features are known: others go both ways, by counts."""
    at = int(trees.tree_offsets[tree]) + node
    left = int(trees.left[at])
    if left < 0:
        return float(trees.value[at])
    feature = int(trees.feature[at])
    if feature in known:
        to_left = goes_left(trees, at, row[feature])
        return known_value(trees, tree, row, known, left if to_left else left + 1)
    first = int(trees.tree_offsets[tree])
    counts = trees.count[first + left : first + left + 2].astype(float)
    share = counts[0] / counts.sum() if counts.sum() > 0 else 0.5
    return share * known_value(trees, tree, row, known, left) + (1 - share) * known_value(
        trees, tree, row, known, left + 1
    )


def game(trees: TreeEnsemble, row: np.ndarray) -> Callable[[frozenset[int]], np.ndarray]:
    """Return the outputs as a function of the set of known features."""

    def value(known: frozenset[int]) -> np.ndarray:
        outputs = np.array(trees.base_score)
        for tree in range(trees.n_trees):
            outputs[trees.tree_outputs[tree]] += trees.tree_weights[tree] * known_value(
                trees, tree, row, known
            )
        return outputs

    return value


def shapley_values(trees: TreeEnsemble, X: np.ndarray) -> np.ndarray:
    """Shape (rows, outputs, features)."""
    n = trees.n_features
    result = np.zeros((len(X), trees.n_outputs, n))
    for r, row in enumerate(X):
        value = game(trees, row)
        for i in range(n):
            others = [j for j in range(n) if j != i]
            for size in range(n):
                weight = factorial(size) * factorial(n - size - 1) / factorial(n)
                for subset in map(frozenset, combinations(others, size)):
                    result[r, :, i] += weight * (value(subset | {i}) - value(subset))
    return result


def shapley_interactions(trees: TreeEnsemble, X: np.ndarray) -> np.ndarray:
    """Shape (rows, outputs, features, features), as shap divides the values."""
    n = trees.n_features
    single = shapley_values(trees, X)
    result = np.zeros((len(X), trees.n_outputs, n, n))
    for r, row in enumerate(X):
        value = game(trees, row)
        for i, j in combinations(range(n), 2):
            others = [k for k in range(n) if k not in (i, j)]
            for size in range(n - 1):
                weight = factorial(size) * factorial(n - size - 2) / (2 * factorial(n - 1))
                for s in map(frozenset, combinations(others, size)):
                    both = value(s | {i, j}) - value(s | {i}) - value(s | {j}) + value(s)
                    result[r, :, i, j] += weight * both
            result[r, :, j, i] = result[r, :, i, j]
        for i in range(n):
            result[r, :, i, i] = single[r, :, i] - result[r, :, i].sum(axis=-1)
    return result


def with_counts(trees: TreeEnsemble, seed: int, empty: float = 0.0) -> TreeEnsemble:
    """Give random counts to all nodes, children adding up to their parent; some may be 0."""
    from dataclasses import replace

    rng = np.random.default_rng(seed)
    count = np.zeros(len(trees.left), np.uint32)
    for tree in range(trees.n_trees):
        first = int(trees.tree_offsets[tree])
        count[first] = 4_000_000_000
        for at in range(first, int(trees.tree_offsets[tree + 1])):
            left = int(trees.left[at])
            if left >= 0:
                share = 0.0 if rng.random() < empty else rng.uniform(0.2, 0.8)
                count[first + left] = round(share * int(count[at]))
                count[first + left + 1] = count[at] - count[first + left]
    return replace(trees, count=count)
