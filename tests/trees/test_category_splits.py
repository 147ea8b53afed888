"""Splits of categorical features by boosted trees, beside all subsets and one-hot columns."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgrove.data.core.categories import Categories
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.trees.category_rules import CategoryRules
from rankgrove.trees.ensemble import TreeEnsemble, tree_sets
from rankgrove.trees.growing import TreeGrower, apply_binned
from rankgrove.trees.scorer import Scorer

EXACT = CategoryRules(
    smoothing=0.0, l2=0.0, max_listed=100, max_onehot=0, min_samples=1, penalty=0.0
)
GROWTHS = ("leafwise", "levelwise", "oblivious")


def categorical(codes, n_categories):
    """A matrix of one categorical column; None is missing."""
    X = np.array([[np.nan if code is None else code] for code in codes], np.float32)
    return DenseMatrix(X, ("brand",), {0: Categories.of(range(n_categories))})


def binned(X, **options):
    return bin_matrix(X, find_bins(X, **options))


def subsets(items):
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def score(g, h, rows, l2):
    total = h[rows].sum() + l2
    return g[rows].sum() ** 2 / total if rows.any() and total > 0 else 0.0


def best_gain(codes, g, h, n_categories, l2, max_listed=100, more_l2=0.0):
    """The gain of the best of all subsets, missing values on either side."""
    codes = np.array([-1 if code is None else code for code in codes])
    every = np.ones(len(codes), bool)
    best = 0.0
    for listed in subsets(range(n_categories)):
        for missing_left in (False, True):
            left = np.isin(codes, listed) | (missing_left & (codes < 0))
            if not left.any() or left.all() or len(listed) > max_listed:
                continue
            added = l2 + (more_l2 if listed else 0.0)
            both = score(g, h, left, added) + score(g, h, ~left, added)
            best = max(best, both - score(g, h, every, l2))
    return best


def columns(n_categories):
    return st.lists(st.one_of(st.none(), st.integers(0, n_categories - 1)), min_size=2, max_size=40)


@settings(max_examples=150, deadline=None)
@given(
    codes=columns(6),
    seed=st.integers(0, 2**32),
    weighted=st.booleans(),
    tree=st.sampled_from(GROWTHS),
)
def test_the_best_of_all_subsets_is_found(codes, seed, weighted, tree):
    rng = np.random.default_rng(seed)
    g = (rng.integers(-64, 65, len(codes)) / 16).astype(np.float32)
    h = rng.integers(1, 9, len(codes)).astype(np.float32) if weighted else np.ones(len(codes))
    X = categorical(codes, 6)
    depth = {"max_depth": 1} if tree == "oblivious" else {}
    grower = TreeGrower(binned(X), tree=tree, max_leaf_nodes=2, categories=EXACT, n_jobs=1, **depth)
    grown = grower.grow(g, h.astype(np.float32) if weighted else None)
    expected = best_gain(codes, g.astype(float), h.astype(float), 6, 0.0)
    assert grown.gain[0] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    if grown.n_nodes == 3:
        sides = grower.leaf_of_row.copy()
        values = [score(g, h, sides == leaf, 0.0) for leaf in (1, 2)]
        every = score(g, h, np.ones(len(g), bool), 0.0)
        assert sum(values) - every == pytest.approx(expected, rel=1e-4, abs=1e-5)
        assert tree_sets(grown).codes(0) is not None


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    tree=st.sampled_from(GROWTHS),
    missing=st.booleans(),
    n_categories=st.sampled_from([2, 5, 40, 300]),
    n_jobs=st.sampled_from([1, 3]),
)
def test_rows_lie_where_the_scorer_sends_them(seed, tree, missing, n_categories, n_jobs):
    rng = np.random.default_rng(seed)
    n = 400
    X = rng.normal(size=(n, 3)).astype(np.float32)
    X[:, 1] = rng.integers(n_categories, size=n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    matrix = DenseMatrix(X, None, {1: Categories.of(range(n_categories))})
    effect = rng.normal(size=n_categories + 1)
    g = (effect[np.nan_to_num(X[:, 1], nan=n_categories).astype(int)] + X[:, 0]).astype(np.float32)
    g = np.nan_to_num(g)
    codes = binned(matrix)
    depth = {"max_depth": 3} if tree == "oblivious" else {}
    rules = CategoryRules(min_samples=2, smoothing=1.0, l2=1.0)
    grower = TreeGrower(codes, tree=tree, categories=rules, n_jobs=n_jobs, **depth)
    grown = grower.grow(g, None)
    leaves = grower.leaf_of_row.copy()
    np.testing.assert_array_equal(apply_binned(grown, codes), leaves)
    again = TreeGrower(codes, tree=tree, categories=rules, n_jobs=1, **depth).grow(g, None)
    for name in ("feature", "left", "value", "gain", "missing_left"):
        np.testing.assert_array_equal(getattr(grown, name), getattr(again, name))
    values = grown.value.copy()
    trees = TreeEnsemble.from_trees([grown], 3)
    for walk in (False, True):
        np.testing.assert_array_equal(Scorer(trees, walk=walk).predict(X), values[leaves])


@pytest.mark.parametrize("tree", GROWTHS)
def test_sets_of_categories_do_not_depend_on_the_scale_of_the_loss(tree):
    rng = np.random.default_rng(8)
    codes = rng.integers(20, size=2000)
    g = (rng.normal(size=20)[codes] / 4 + rng.normal(size=2000)).astype(np.float32)
    h = rng.uniform(0.5, 1.5, 2000).astype(np.float32)
    X = binned(categorical(codes.tolist(), 20))
    options = {"tree": tree, "l2": 0.0, "min_child_weight": 0.0, "max_depth": 3}
    large, small = (
        TreeGrower(X, categories=CategoryRules(), **options).grow(g * scale, h * scale)
        for scale in (np.float32(1.0), np.float32(2.0**-8))
    )
    assert large.n_nodes >= 7
    np.testing.assert_array_equal(large.left, small.left)
    np.testing.assert_array_equal(large.gain, small.gain * 2.0**8)
    np.testing.assert_array_equal(large.value, small.value)


@pytest.mark.parametrize("tree", ["leafwise", "levelwise"])
def test_one_against_rest_is_what_one_hot_columns_give(tree):
    rng = np.random.default_rng(3)
    n, n_categories = 600, 7
    codes = rng.integers(n_categories, size=n)
    other = rng.normal(size=n)
    g = (rng.normal(size=n_categories)[codes] * (1 + other)).astype(np.float32)
    h = rng.uniform(0.5, 1.5, n).astype(np.float32)
    X = np.c_[codes, other].astype(np.float32)
    matrix = DenseMatrix(X, None, {0: Categories.of(range(n_categories))})
    one_hot = np.c_[codes[:, None] == np.arange(n_categories), other].astype(np.float32)
    alone = CategoryRules(max_onehot=n_categories, min_samples=1)
    limit = {"max_leaf_nodes": 12} if tree == "leafwise" else {"max_depth": 3}
    options = {"tree": tree, "l2": 1.0, "min_samples_leaf": 5, **limit}
    grown = TreeGrower(binned(matrix), categories=alone, **options).grow(g, h)
    expected = TreeGrower(binned(DenseMatrix(one_hot)), **options).grow(g, h)
    scores = Scorer(TreeEnsemble.from_trees([grown], 2)).predict(X)
    wanted = Scorer(TreeEnsemble.from_trees([expected], n_categories + 1)).predict(one_hot)
    np.testing.assert_array_equal(scores, wanted)


def test_limits_of_subsets_are_kept():
    rng = np.random.default_rng(5)
    codes = rng.integers(8, size=500)
    g = rng.normal(size=8)[codes].astype(np.float32)
    X = categorical(codes.tolist(), 8)
    rare = np.bincount(codes, minlength=8) < 60
    for rules, most in (
        (CategoryRules(max_listed=2, max_onehot=0, min_samples=1), 2),
        (CategoryRules(max_onehot=8, min_samples=1), 1),
        (CategoryRules(max_onehot=0, min_samples=60), 8),
    ):
        tree = TreeGrower(binned(X), max_leaf_nodes=2, categories=rules).grow(g, None)
        listed = tree_sets(tree).codes(0)
        assert 1 <= len(listed) <= most
        assert rules.min_samples == 1 or not rare[listed].any()
    exact = best_gain(codes.tolist(), g.astype(float), np.ones(500), 8, 0.0)
    regular = CategoryRules(smoothing=0.0, l2=50.0, max_onehot=0, min_samples=1, penalty=0.0)
    tree = TreeGrower(binned(X), max_leaf_nodes=2, categories=regular).grow(g, None)
    assert tree.gain[0] < exact
    wanted = best_gain(codes.tolist(), g.astype(float), np.ones(500), 8, 0.0, more_l2=50.0)
    assert tree.gain[0] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("tree", GROWTHS)
def test_a_set_loses_what_chance_gives_to_so_many_categories(tree):
    rng = np.random.default_rng(6)
    codes = rng.integers(7, size=400)
    g = (rng.normal(size=7)[codes] + rng.normal(size=400)).astype(np.float32)
    X = categorical(codes.tolist(), 7)
    rules = CategoryRules(
        smoothing=0.0, l2=0.0, max_listed=100, max_onehot=0, min_samples=1, penalty=1.5
    )
    every, one = np.ones(400, bool), np.ones(400)
    g = g.astype(float)
    chance = (g**2).sum() / 400

    def worth(listed):
        left = np.isin(codes, listed)
        gain = score(g, one, left, 0.0) + score(g, one, ~left, 0.0) - score(g, one, every, 0.0)
        m = len(listed)
        return gain - 1.5 * chance * m * (1 + 2 * np.log(7 / m))

    best = max(worth(listed) for listed in subsets(range(7)) if 0 < len(listed) < 7)
    assert best > 0
    limit = {"max_depth": 1} if tree == "oblivious" else {"max_leaf_nodes": 2}
    grown = TreeGrower(binned(X), tree=tree, categories=rules, **limit).grow(
        g.astype(np.float32), None
    )
    assert grown.gain[0] == pytest.approx(best, rel=1e-4)


def test_categories_without_effect_make_no_split():
    rng = np.random.default_rng(7)
    X = categorical(rng.integers(300, size=20_000).tolist(), 300)
    g = rng.normal(size=20_000).astype(np.float32)
    tempted = CategoryRules(penalty=0.0)
    assert len(TreeGrower(binned(X), max_leaf_nodes=8, categories=tempted).grow(g, None).gain) > 1
    assert len(TreeGrower(binned(X), max_leaf_nodes=8).grow(g, None).gain) == 1


def test_bins_of_categories_are_their_codes():
    X = categorical([3, 0, None, 1, 3, 2.5, 7, -1], 5)
    bins = find_bins(X, max_bins=2, fill=np.zeros(1, np.float32))
    assert bins.n_bins().tolist() == [5]
    assert bins.categorical().tolist() == [1]
    assert bin_matrix(X, bins).codes(0).tolist() == [3, 0, 5, 1, 3, 5, 5, 5]
    assert find_bins(DenseMatrix(X.values)).categorical().tolist() == []


def test_a_direction_of_categories_is_refused():
    X = categorical([0, 1, 2], 3)
    with pytest.raises(ValueError, match="categorical"):
        TreeGrower(binned(X), monotone=[1])
