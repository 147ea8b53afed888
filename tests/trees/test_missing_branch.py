"""Splits of boosted trees whose missing values are a third child, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from oracles import regression_tree as oracle
from rankgrove.datasets import make_ranking
from rankgrove.explain.tree_drawing import read_tree, tree_text
from rankgrove.rankers.base.registry import make_ranker
from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.trees.growing import TreeGrower

NOISE = 1e-9


def problem(seed):
    """Few values, many of them missing; gradients exact in fixed point."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 60))
    X = rng.integers(0, rng.integers(2, 9), (n, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.25] = np.nan
    g = (rng.integers(-16, 17, n) / 8).astype(np.float32)
    h = (rng.integers(1, 9, n) / 8).astype(np.float32)
    return X, g, h, bin_matrix(X, find_bins(X))


def parts_of(tree, node, rows, X):
    """Children of a node with their rows, and whether missing values are a third one."""

    def sides(number, own):
        x = X[own, tree.feature[number]]
        left = np.where(np.isnan(x), tree.missing_left[number] == 1, x <= tree.threshold[number])
        return own[left], own[~left]

    first = tree.left[node]
    values, missing = sides(node, rows)
    three = (
        np.isposinf(tree.threshold[node])
        and tree.feature[first] == tree.feature[node]
        and tree.gain[first] == 0
    )
    if not three:
        return [(first, values), (first + 1, missing)], False
    second = tree.left[first]
    below, above = sides(first, values)
    return [(second, below), (second + 1, above), (first + 1, missing)], True


def gain_of(parts, g, h, rules):
    """Gain of any number of children; -inf if one is too small."""
    if any(len(part) < rules.min_samples_leaf or not h[part].sum() > 0 for part in parts):
        return -np.inf
    rows = np.concatenate(parts)
    after = sum(oracle.node_score(g, h, part, rules) for part in parts)
    return after - oracle.node_score(g, h, rows, rules)


def candidates(rows, X, rules):
    for feature in range(X.shape[1]):
        x = X[rows, feature]
        missing, present = rows[np.isnan(x)], rows[~np.isnan(x)]
        alone = min(len(missing), len(present)) >= rules.min_samples_leaf
        for threshold in np.unique(X[present, feature])[:-1]:
            below = present[X[present, feature] <= threshold]
            above = present[X[present, feature] > threshold]
            if not len(missing):
                yield [below, above]
            elif alone:
                yield [below, above, missing]
            else:  # too few for a child of their own: they join a side
                yield [np.r_[below, missing], above]
                yield [below, np.r_[above, missing]]
        if len(missing) and len(present):
            yield [present, missing]


@pytest.mark.parametrize("growth", ["leafwise", "levelwise"])
@pytest.mark.parametrize("hessians", [True, False])
def test_three_children_are_chosen_jointly(growth, hessians):
    n_three = 0
    for seed in range(60):
        X, g, h, binned = problem(seed)
        least = 1 + seed % 4
        rules = oracle.Rules(min_samples_leaf=least, l2=0.0 if seed % 2 else 1.0)
        grower = TreeGrower(
            binned, tree=growth, min_samples_leaf=least, l2=rules.l2, missing_branch=True, n_jobs=1
        )
        tree = grower.grow(g, h if hessians else None)
        weight = h.astype(float) if hessians else np.ones(len(h))
        g = g.astype(float)
        open_nodes = [(0, np.arange(len(g)))]
        while open_nodes:
            node, rows = open_nodes.pop()
            if tree.left[node] < 0:
                continue
            parts, three = parts_of(tree, node, rows, X)
            chosen = gain_of([own for _, own in parts], g, weight, rules)
            best = max(gain_of(p, g, weight, rules) for p in candidates(rows, X, rules))
            assert chosen == pytest.approx(best, rel=1e-6, abs=NOISE)
            assert tree.gain[node] == pytest.approx(chosen, rel=1e-5, abs=NOISE)
            n_three += three
            for child, own in parts:
                expected = oracle.node_value(g, weight, own, rules)
                assert tree.value[child] == pytest.approx(expected, rel=1e-6, abs=1e-9)
                assert tree.count[child] == len(own)
            open_nodes += parts
    assert n_three > 40


@pytest.mark.parametrize("growth", ["leafwise", "levelwise"])
def test_a_third_child_is_one_level_and_one_leaf(growth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = np.nan
    g = rng.normal(size=500).astype(np.float32)
    binned = bin_matrix(X, find_bins(X))
    for leaves in range(2, 14):
        grower = TreeGrower(binned, tree=growth, max_leaf_nodes=leaves, missing_branch=True)
        tree = grower.grow(g, None)
        n_leaves = int((np.asarray(tree.left) < 0).sum())
        assert leaves - 1 <= n_leaves <= leaves
    tree = TreeGrower(binned, tree=growth, max_depth=2, missing_branch=True).grow(g, None)
    assert int((np.asarray(tree.left) < 0).sum()) == 9
    deepest = 0
    open_nodes = [(0, np.arange(500), 0)]
    while open_nodes:
        node, rows, depth = open_nodes.pop()
        deepest = max(deepest, depth)
        if tree.left[node] >= 0:
            open_nodes += [(c, own, depth + 1) for c, own in parts_of(tree, node, rows, X)[0]]
    assert deepest == 2


@pytest.mark.parametrize("name", ["gbrt", "lambdamart", "mart", "igbrt", "broof", "rf"])
def test_rankers_take_branches_through_files_and_any_number_of_threads(name, tmp_path):
    data = make_ranking(20, seed=1)
    X = np.array(data.X)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    params = {"missing": "branch", "random_state": 0, "n_estimators": 3}
    if name == "broof":
        params["n_trees"] = 3
    if name == "igbrt":
        params["n_forest_trees"] = 3
    one, two = (
        make_ranker(name, n_jobs=jobs, **params).fit(X, data.y, qid=data.qid) for jobs in (1, 2)
    )
    trees = one.model_.ensemble
    assert np.isposinf(trees.threshold[trees.left >= 0]).any()
    scores = one.predict(X)
    np.testing.assert_array_equal(scores, two.predict(X))
    one.save(tmp_path / "model.rg")
    np.testing.assert_array_equal(rankgrove.load_model(tmp_path / "model.rg").predict(X), scores)
    np.testing.assert_allclose(one.explain(X).scores, scores, rtol=1e-5, atol=1e-6)


def test_what_does_not_go_with_branches_is_refused():
    data = make_ranking(5, seed=1)
    for setting in ({"tree": "oblivious"}, {"monotone": [1] * 20}, {"random_strength": 1.0}):
        ranker = make_ranker("lambdamart", missing="branch", n_estimators=1, **setting)
        with pytest.raises(ValueError, match=r"missing(=| of \w+ is )'branch'"):
            ranker.fit(data)


def test_data_without_missing_values_give_the_same_trees():
    data = make_ranking(20, seed=1)
    keep, branch = (
        make_ranker(
            "lambdamart", n_estimators=3, random_state=0, missing=policy, tree="leafwise"
        ).fit(data)
        for policy in ("keep", "branch")
    )
    np.testing.assert_array_equal(keep.predict(data), branch.predict(data))


def test_a_shown_tree_says_what_is_missing():
    X = np.array([[0], [1], [2], [3], [np.nan], [np.nan]], np.float32)
    y = np.array([0, 0, 1, 1, 3, 3])
    ranker = make_ranker("gbrt", missing="branch", n_estimators=1, min_samples_leaf=1, l2=0)
    ranker.fit(X, y, group_sizes=[6])
    lines = tree_text(read_tree(ranker, 1)).splitlines()
    assert lines[0] == "f1 is not missing  [6]"
    assert lines[1].startswith("├─ yes: f1 <= 1.5 (missing: ")
    assert len(lines) == 5
