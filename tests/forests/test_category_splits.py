"""Splits of forests on categorical features, beside all subsets and all prefixes of an order."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from oracles import forest as oracle
from rankgrove.data.core.categories import Categories
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.rankers.base.registry import make_ranker
from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.trees.scorer import Scorer

pytestmark = [pytest.mark.filterwarnings("ignore:every document gets the same score")]

N_CATEGORIES = 6
NDCG = {"gain": lambda c: 2**c - 1, "discount": lambda r: 1 / math.log2(r + 1), "normalize": True}


def small_data(seed, n_grades):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, 6)
    n = int(sizes.sum())
    codes = rng.integers(0, N_CATEGORIES, n).astype(np.float32)
    codes[rng.random(n) < 0.15 * rng.integers(2)] = np.nan
    y = rng.integers(0, n_grades, n).astype(float)
    bounds = np.r_[0, np.cumsum(sizes)]
    queries = [list(range(a, b)) for a, b in itertools.pairwise(bounds)]
    return codes, y, sizes, queries


def matrix_of(codes, *more):
    X = np.column_stack([codes, *more]).astype(np.float32)
    return DenseMatrix(X, None, {0: Categories.of(range(N_CATEGORIES))})


def grow(name, X, y, sizes, **params):
    settings = {"n_estimators": 1, "subsample": 1.0, "random_state": 0, "n_jobs": 1}
    settings |= {"min_samples_leaf": 1, **params}
    if name != "rf-rand":
        settings.setdefault("max_features", "all")
    return make_ranker(name, **settings).fit(X, y, group_sizes=sizes)


def sides(codes, listed, missing_left):
    left = np.isin(codes, listed) | (missing_left & np.isnan(codes))
    return np.flatnonzero(left).tolist(), np.flatnonzero(~left).tolist()


def parts_of(codes, lists):
    """Both sides of every list of categories, missing values on either side."""
    for listed, missing_left in itertools.product(lists, (False, True)):
        left, right = sides(codes, listed, missing_left)
        if left and right:
            yield left, right


def subsets():
    every = range(N_CATEGORIES)
    return [s for size in range(N_CATEGORIES + 1) for s in itertools.combinations(every, size)]


@pytest.mark.parametrize(
    ("criterion", "n_grades"), [("squared_error", 4), ("gini", 2), ("entropy", 2)]
)
def test_the_best_of_all_subsets_is_found(criterion, n_grades):
    for seed in range(40):
        codes, y, sizes, _ = small_data(seed, n_grades)
        X = matrix_of(codes)
        tree = grow("rf-point", X, y, sizes, criterion=criterion, max_depth=1).model_.ensemble
        gains = [
            oracle.pointwise_gain(left, right, y, None, criterion)
            for left, right in parts_of(codes, subsets())
        ]
        assert tree.gain[0] == pytest.approx(max(gains), rel=1e-5, abs=1e-9)


def test_the_best_prefix_by_mean_relevance_is_found_listwise():
    n_splits = 0
    for seed in range(60):
        codes, y, sizes, queries = small_data(seed, 4)
        X = matrix_of(codes)
        tree = grow("rf-list", X, y, sizes, metric="ndcg", max_depth=1).model_.ensemble
        present = [c for c in range(N_CATEGORIES) if (codes == c).any()]
        order = sorted(present, key=lambda c: y[codes == c].mean())
        prefixes = [order[:size] for size in range(len(order) + 1)]
        before = oracle.mean_metric([list(range(len(y)))], y, queries, NDCG)
        gains = [
            oracle.mean_metric([left, right], y, queries, NDCG) - before
            for left, right in parts_of(codes, prefixes)
            if oracle.mean_score(left, y) != oracle.mean_score(right, y)
        ]
        best = max(gains, default=0.0)
        if best > 1e-9:
            n_splits += 1
            assert tree.gain[0] == pytest.approx(best, rel=1e-5)
        else:
            assert len(tree.left) == 1
    assert n_splits > 30


@pytest.mark.parametrize("name", ["rf-point", "rf-list", "rf-hybrid", "rf-rand", "extra-trees"])
def test_documents_lie_in_the_leaves_that_answer_for_them(name):
    """Trees grown to the end on distinct documents answer with the labels."""
    rng = np.random.default_rng(7)
    n = 300
    codes = rng.integers(0, N_CATEGORIES, n).astype(np.float32)
    codes[::17] = np.nan
    y = rng.integers(0, 4, n).astype(float)
    X = matrix_of(codes, rng.normal(size=n))
    fitted = grow(name, X, y, np.full(20, 15), n_estimators=3)
    trees = fitted.model_.ensemble
    assert trees.categorical_features.tolist() == [0]
    leaves = fitted.model_.leaves(X)
    for tree in range(trees.n_trees):
        first = trees.tree_offsets[tree]
        at = leaves[:, tree] + first
        counts = np.bincount(at, minlength=len(trees.count))
        is_leaf = trees.left < 0
        inside = slice(first, trees.tree_offsets[tree + 1])
        np.testing.assert_array_equal(
            counts[inside][is_leaf[inside]], trees.count[inside][is_leaf[inside]]
        )
        for leaf in np.unique(at):
            assert trees.value[leaf] == pytest.approx(y[at == leaf].mean(), rel=1e-6)
    for walk in (False, True):
        scores = Scorer(trees, walk=walk).predict(X)
        np.testing.assert_array_equal(scores, fitted.predict(X))


@pytest.mark.filterwarnings("ignore:X. 1 of 3 values:rankgrove.errors.DataWarning")
def test_categories_that_a_node_lacks_follow_the_larger_child():
    codes = np.array([0, 0, 0, 0, 0, 0, 1, 1], np.float32)
    for high in (0, 1):
        y = np.where(codes == high, 1.0, 0.0)
        fitted = grow("rf-point", matrix_of(codes), y, [8], max_depth=1)
        for other in (2, 5, np.nan):
            scores = fitted.predict(matrix_of([0, 1, other]))
            assert scores[2] == scores[0]


def test_random_subsets_differ_from_tree_to_tree():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, N_CATEGORIES, 200).astype(np.float32)
    y = rng.integers(0, 3, 200).astype(float)
    for name in ("rf-rand", "extra-trees"):
        fitted = grow(name, matrix_of(codes), y, [200], n_estimators=200, max_depth=1)
        trees = fitted.model_.ensemble
        found = {tuple(trees.category_sets.codes(int(root))) for root in trees.tree_offsets[:-1]}
        assert len(found) > 15  # of 31 ways to make two sides
        assert {len(listed) for listed in found} >= {1, 2, 3}


def test_wide_codes_and_small_nodes_agree_with_narrow_ones():
    rng = np.random.default_rng(9)
    n = 600
    few = rng.integers(0, N_CATEGORIES, n)
    y = rng.integers(0, 3, n).astype(float)
    X = np.column_stack([few, rng.normal(size=n).round(1)]).astype(np.float32)
    narrow = DenseMatrix(X, None, {0: Categories.of(range(N_CATEGORIES))})
    wide = DenseMatrix(X, None, {0: Categories.of(range(400))})
    assert bin_matrix(wide, find_bins(wide)).wide
    for name in ("rf-point", "rf-list", "extra-trees"):
        one = grow(name, narrow, y, np.full(40, 15), n_estimators=3).predict(X)
        other = grow(name, wide, y, np.full(40, 15), n_estimators=3).predict(X)
        np.testing.assert_array_equal(one, other)
