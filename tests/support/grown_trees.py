"""Small trees of forests, grown and replayed split by split, to compare with brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from oracles import forest as oracle
from rankgrove.rankers.base.registry import make_ranker

NOISE = 1e-12


def tied_data(seed, missing=False, longest=7):
    """Few distinct values and labels: ties within features, and in scores across leaves."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, longest + 1, rng.integers(2, 7))
    sizes[0] = 1
    sizes[-1] = max(2, sizes[-1])
    n = int(sizes.sum())
    X = rng.integers(0, rng.integers(2, 7), (n, rng.integers(1, 4))).astype(np.float32)
    if rng.random() < 0.3:
        X[:, -1] = X[:, 0]
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, rng.integers(2, 5), n)
    bounds = np.r_[0, np.cumsum(sizes)]
    queries = [list(range(a, b)) for a, b in itertools.pairwise(bounds)]
    return X, y.astype(float), sizes, queries


class GrownTree:
    """A tree of a fitted forest, replayed split by split on its training rows."""

    def __init__(self, ranker, X):
        trees = ranker.model_.ensemble
        self.X = X
        self.feature, self.threshold = trees.feature, trees.threshold
        self.left, self.missing_left = trees.left, trees.missing_left
        self.value, self.gain = trees.value, trees.gain
        self.inner = sorted(np.flatnonzero(self.left >= 0), key=lambda i: self.left[i])

    def children(self, node, rows):
        x = self.X[rows, self.feature[node]]
        goes_left = np.where(np.isnan(x), self.missing_left[node] == 1, x <= self.threshold[node])
        pair = list(zip(rows, goes_left, strict=True))
        return [i for i, go in pair if go], [i for i, go in pair if not go]


def grow(name, X, y, sizes, weight=None, **params):
    ranker = make_ranker(
        name,
        **{
            "n_estimators": 1,
            "subsample": 1.0,
            "min_samples_leaf": 1,
            # The default where it has no effect: splits of rf-rand are random.
            "max_features": "log2" if name == "rf-rand" else "all",
            "random_state": 0,
            "n_jobs": 1,
            **params,
        },
    )
    return ranker.fit(X, y, group_sizes=sizes, sample_weight=weight)


def check_listwise(X, y, sizes, queries, metric, settings, order="breadth-first", weight=None):
    """Every split of a tree of rf-list is the best by brute force.

    ``settings`` are the arguments of ``oracles.forest.expected_metric``. Returns the tree, its
    leaves and the number of splits.
    """
    ranker = grow("rf-list", X, y, sizes, weight, metric=metric, node_order=order)
    tree = GrownTree(ranker, X)
    members = {0: list(range(len(y)))}
    n_splits = 0
    for node in tree.inner:
        leaves = dict(members)
        rows = leaves.pop(node)
        others = list(leaves.values())
        before = oracle.mean_metric([*others, rows], y, queries, settings, weight)

        def gain(parts, others=others, before=before):
            return oracle.mean_metric([*others, *parts], y, queries, settings, weight) - before

        best = max(gain(parts) for parts in oracle.partitions(rows, X))
        left, right = tree.children(node, rows)
        chosen = gain((left, right))
        assert chosen > 0
        assert chosen >= best - NOISE
        assert tree.gain[node] == pytest.approx(chosen, rel=2e-7, abs=NOISE)
        members = {**leaves, tree.left[node]: left, tree.left[node] + 1: right}
        n_splits += 1
        for child, part in ((tree.left[node], left), (tree.left[node] + 1, right)):
            assert tree.value[child] == pytest.approx(oracle.mean_score(part, y, weight))
    return tree, members, n_splits
