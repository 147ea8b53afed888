"""Splits whose missing values are a third child, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import forest as oracle
from rankgrove.rankers.base.registry import make_ranker
from support.grown_trees import GrownTree, grow, tied_data

pytestmark = [pytest.mark.filterwarnings("ignore:every document gets the same score")]


class BranchedTree(GrownTree):
    """A tree whose nodes may have a third child, written as two binary splits."""

    def has_branch(self, node):
        values = self.left[node]
        return (
            np.isposinf(self.threshold[node])
            and self.feature[values] == self.feature[node]
            and self.gain[values] == 0
        )

    def parts(self, node, rows):
        """Children of a node with their rows: below, above and, if there are any, missing."""
        first = self.left[node]
        values, missing = self.children(node, rows)
        if not self.has_branch(node):
            return [(first, values), (first + 1, missing)]
        below, above = self.children(first, values)
        second = self.left[first]
        return [(second, below), (second + 1, above), (first + 1, missing)]

    def walk(self, n_rows):
        """Yield node, rows and children of all splits, with the depth of the node."""
        open_nodes = [(0, list(range(n_rows)), 0)]
        while open_nodes:
            node, rows, depth = open_nodes.pop()
            if self.left[node] < 0:
                continue
            parts = self.parts(node, rows)
            yield node, rows, parts, depth
            open_nodes += [(child, own, depth + 1) for child, own in parts]


def three_way_partitions(rows, X):
    """All splits of rows: below, above and missing, or values and missing ones."""
    for feature in range(X.shape[1]):
        column = {i: X[i, feature] for i in rows}
        missing = [i for i in rows if np.isnan(column[i])]
        present = [i for i in rows if not np.isnan(column[i])]
        values = sorted({column[i] for i in present})
        for threshold in values[:-1]:
            below = [i for i in present if column[i] <= threshold]
            above = [i for i in present if column[i] > threshold]
            yield [part for part in (below, above, missing) if part]
        if missing and present:
            yield [present, missing]


def gain_of(parts, y, weight, criterion):
    def mass(rows):
        return sum(1.0 if weight is None else weight[i] for i in rows)

    rows = [i for part in parts for i in part]
    after = sum(mass(part) * oracle.impurity(part, y, weight, criterion) for part in parts)
    whole = mass(range(len(y)))
    return (mass(rows) * oracle.impurity(rows, y, weight, criterion) - after) / whole


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["entropy", "gini", "squared_error"])
def test_three_children_are_chosen_jointly(criterion, weighted):
    n_branches = 0
    for seed in range(40):
        X, y, sizes, _ = tied_data(seed, missing=True)
        weight = None
        if weighted:
            weight = np.random.default_rng(seed).integers(1, 5, len(y)) / 2.0
        ranker = grow("rf-point", X, y, sizes, weight, criterion=criterion, missing="branch")
        tree = BranchedTree(ranker, X)
        for node, rows, parts, _ in tree.walk(len(y)):
            chosen = gain_of([own for _, own in parts], y, weight, criterion)
            best = max(gain_of(p, y, weight, criterion) for p in three_way_partitions(rows, X))
            assert chosen == pytest.approx(best, abs=1e-9)
            assert tree.gain[node] == pytest.approx(chosen, rel=1e-6, abs=1e-9)
            assert all(own for _, own in parts)
            if len(parts) == 2 and np.isnan(X[rows, tree.feature[node]]).any():
                assert np.isposinf(tree.threshold[node])  # missing values are alone
            for child, own in parts:
                assert tree.value[child] == pytest.approx(oracle.mean_score(own, y, weight))
            n_branches += len(parts) == 3
    assert n_branches > 40


@pytest.mark.parametrize("name", ["rf-point", "rf", "extra-trees", "rf-rand"])
def test_a_third_child_is_one_level_and_its_documents_are_alone(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = np.nan
    y = rng.integers(0, 4, 400).astype(float)
    ranker = grow(name, X, y, np.full(20, 20), missing="branch", max_depth=3, sampling="queries")
    tree = BranchedTree(ranker, X)
    depths, n_three = [], 0
    for node, rows, parts, depth in tree.walk(400):
        depths.append(depth)
        missing = np.isnan(X[rows, tree.feature[node]])
        n_three += len(parts) == 3
        if missing.any():
            assert sorted(parts[-1][1]) == sorted(np.array(rows)[missing])
        for child, own in parts:
            assert tree.value[child] == pytest.approx(y[own].mean())
    assert max(depths) == 2
    assert n_three > 3
    reached = ranker.predict(X)
    means = {value: y[reached == value].mean() for value in np.unique(reached)}
    assert all(value == pytest.approx(mean) for value, mean in means.items())


@pytest.mark.parametrize("order", ["breadth-first", "best-first"])
@pytest.mark.parametrize("least", [1, 12])
def test_limits_count_all_three_children(order, least):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 3, 300).astype(float)
    for leaves in range(2, 12):
        ranker = grow(
            "rf", X, y, np.full(10, 30), missing="branch", max_leaf_nodes=leaves,
            node_order=order, min_samples_leaf=least, sampling="queries",
        )  # fmt: skip
        trees = ranker.model_.ensemble
        assert leaves - 1 <= trees.n_leaves[0] <= leaves
        assert trees.count[trees.left < 0].min() >= least


def test_too_few_missing_values_for_a_leaf_join_a_side():
    X = np.array([[0], [1], [2], [3], [4], [5], [np.nan]], np.float32)
    y = np.array([0, 0, 0, 2, 2, 2, 2.0])
    tree = grow("rf", X, y, [7], missing="branch", min_samples_leaf=2, sampling="queries")
    trees = tree.model_.ensemble
    assert trees.n_leaves[0] == 2
    assert trees.missing_left[0] == 0
    np.testing.assert_allclose(tree.predict(X), y)


def test_infinite_values_are_no_missing_ones():
    X = np.array([[0], [0], [np.inf], [np.inf], [np.nan], [np.nan]], np.float32)
    y = np.array([0, 0, 1, 1, 3, 3.0])
    ranker = grow("rf", X, y, [6], missing="branch", sampling="queries")
    assert ranker.predict(X)[2] != ranker.predict(X)[0]


def test_what_has_no_third_child_is_refused(small_data):
    for name in ("rf-list", "rf-hybrid"):
        with pytest.raises(ValueError, match=r"parameter missing of RF.* not 'branch'"):
            make_ranker(name, missing="branch").fit(small_data)


def test_data_without_missing_values_give_the_same_trees(small_data):
    common = {"n_estimators": 2, "random_state": 3}
    for name in ("rf-point", "extra-trees", "rf-rand"):
        keep = make_ranker(name, missing="keep", **common).fit(small_data)
        branch = make_ranker(name, missing="branch", **common).fit(small_data)
        np.testing.assert_array_equal(keep.model_.ensemble.value, branch.model_.ensemble.value)
