"""Pointwise trees around the sizes and kinds of data where the native code changes its ways.

Small brute force never gets there: every node is compared with a scan in arrays instead. Class
values and weights are multiples of 1/4, so that sums are exact in any order.
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles.forest_scan import NodeScan
from rankgrove import _native
from rankgrove.rankers.base.registry import make_ranker

NOISE = 1e-12
CRITERIA = ["entropy", "gini", "squared_error"]
MOST_IN_PACKED_COUNTS = {3: 2**21 - 1, 5: 2**12 - 1}  # by number of classes


def make_data(n, n_classes, seed, n_values=40, missing=False):
    """Features of few and of many values, one of them constant; labels follow two of them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n, 4)).astype(np.float32)
    X[:, 1] = X[:, 1] > n_values // 3
    X[:, 2] = 7
    noisy = X[:, 0] / n_values + X[:, 1] / 3 + rng.normal(size=n) / 3
    y = np.clip(noisy * n_classes / 1.5, 0, n_classes - 1).round()
    y[:n_classes] = np.arange(n_classes)[:n]
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


def grow(X, y, name="rf-point", weight=None, **params):
    defaults = {"n_estimators": 1, "subsample": 1.0, "random_state": 0, "n_jobs": 1}
    full = {"max_features": "all", "min_samples_leaf": 1}
    ranker = make_ranker(name, **{**defaults, **full, **params})
    return ranker.fit(X, y, group_sizes=[len(y)], sample_weight=weight).model_.ensemble


def check_tree(
    tree, X, y, criterion, weight=None, min_leaf=1, *, best=True, full=True, whole=False
):
    """Replay a tree: its counts, gains and values are those of its splits. With ``best``, none of
    its nodes has a better split; with ``full``, none of its leaves has one at all. With
    ``whole``, values are all whole numbers of a range, and thresholds lie amid those they part."""
    members = {0: np.arange(len(y))}
    w = np.ones(len(y)) if weight is None else weight
    tolerance = NOISE * max(1.0, (y**2).mean() if criterion == "squared_error" else 1.0)
    for node in sorted(np.flatnonzero(tree.left >= 0), key=lambda i: tree.left[i]):
        rows = members.pop(node)
        x = X[rows, tree.feature[node]]
        goes_left = np.where(np.isnan(x), tree.missing_left[node] == 1, x <= tree.threshold[node])
        scan = NodeScan(y[rows], w[rows], criterion)
        gain = scan.gain(goes_left)
        assert tree.gain[node] == pytest.approx(
            gain * scan.mass / w.sum(), rel=2e-7, abs=2 * tolerance
        )
        if best:
            assert gain >= scan.best_gain(X[rows], min_leaf) * (1 - NOISE) - tolerance
        if whole and (x[~goes_left] >= 0).any():
            middle = (np.nanmax(x[goes_left]) + np.nanmin(x[~goes_left])) / 2
            assert abs(tree.threshold[node] - middle) <= 0.5
        for child, part in enumerate((rows[goes_left], rows[~goes_left]), tree.left[node]):
            assert tree.count[child] == len(part) >= min_leaf
            members[child] = part
    for leaf, rows in members.items():
        assert tree.value[leaf] == np.float32(np.average(y[rows], weights=w[rows]))
        if best and full:
            scan = NodeScan(y[rows], w[rows], criterion)
            assert scan.best_gain(X[rows], min_leaf) <= 2 * tolerance


def check_same(one, other):
    for name in ("feature", "threshold", "left", "missing_left", "value", "count", "gain"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("size", range(MOST_IN_PACKED_COUNTS[5] - 1, MOST_IN_PACKED_COUNTS[5] + 4))
def test_counters_of_five_classes_hold_a_node_of_nearly_one_class(size, criterion):
    """The root and its child of ``size`` documents, all but one of a class: a full counter would
    run over into the next."""
    for common in range(5):
        n = size + 3
        X = np.random.default_rng(size).integers(0, 2, (n, 3)).astype(np.float32)
        y = np.full(n, float(common))
        X[:, 0] = X[:, 1] = 0
        X[:3, 0] = X[9, 1] = 1
        y[[0, 1, 2, 9]] = [c for c in range(5) if c != common]
        tree = grow(X, y, criterion=criterion)
        assert {n, size, size - 1} < set(tree.count)
        check_tree(tree, X, y, criterion)


@pytest.mark.slow
def test_counters_of_three_classes_hold_two_million_documents():
    n = MOST_IN_PACKED_COUNTS[3] + 3
    X = np.zeros((n, 1), np.float32)
    y = np.ones(n)
    X[[5, 6, 7], 0] = 1, 1, 2
    y[[5, 7]] = 0, 2
    check_tree(grow(X, y, max_depth=1), X, y, "entropy", full=False)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_trees_from_large_to_small_nodes(criterion, n_classes, missing):
    """The best splits of all, of random thresholds, and of some thresholds and features."""
    X, y = make_data(4300, n_classes, seed=n_classes, missing=missing)
    min_leaf = 1 if missing else 3
    common = {"criterion": criterion, "max_depth": 6, "min_samples_leaf": min_leaf}
    for settings in (
        {"name": "rf-point"},
        {"name": "extra-trees"},
        {"name": "rf-point", "threshold_fraction": 0.3, "max_features": 2},
    ):
        tree = grow(X, y, **settings, **common)
        best = settings == {"name": "rf-point"}
        check_tree(tree, X, y, criterion, None, min_leaf, best=best, full=False, whole=best)
        check_same(tree, grow(X, y, weight=np.ones(len(y)), **settings, **common))


@pytest.mark.parametrize(
    ("labels", "leaf_score"),
    [
        ([0, 1, 255], "label"),
        ([0, 1, 256], "label"),
        ([0, 0.5, 1, 2.75], "label"),
        ([-2, -1, 0, 3], "label"),
        ([0, 1, 2, 3, 16], "square"),
        ([0, 3, 4], "power"),
        ([-1, 0, 1], "power"),
        ([0, 1, 40], "power"),  # more than the sum in a packed word holds
        (np.arange(300), "label"),  # more than there are classes
    ],
)
@pytest.mark.parametrize("name", ["rf-point", "extra-trees"])
def test_squared_error_of_any_class_values(name, labels, leaf_score):
    X, y = make_data(700, len(labels), seed=len(labels), missing=True)
    y = np.asarray(labels, float)[y.astype(int)]
    target = {"label": y, "square": y**2, "power": 2**y}[leaf_score]
    common = {"name": name, "criterion": "squared_error", "leaf_score": leaf_score}
    tree = grow(X, y, **common)
    check_tree(tree, X, target, "squared_error", best=name == "rf-point")
    check_same(tree, grow(X, y, weight=np.ones(len(y)), **common))


@pytest.mark.filterwarnings("ignore:.*every label is")
@pytest.mark.filterwarnings("ignore:every document gets the same score")
@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_nodes_of_few_documents_and_groups_of_eight(criterion, weighted):
    """All sizes up to 26: sorted values send whole groups of documents to one side."""
    for n in range(1, 27):
        for seed in range(4):
            X, y = make_data(n, 3, seed, n_values=9, missing=seed == 3)
            if seed < 2:
                X[:, 0] = np.arange(n) if seed == 0 else -np.arange(n)
            weight = np.random.default_rng(n).integers(1, 9, n) / 4 if weighted else None
            check_tree(grow(X, y, weight=weight, criterion=criterion), X, y, criterion, weight)
            some = grow(X, y, weight=weight, criterion=criterion, max_features=1)
            check_tree(some, X, y, criterion, weight, best=False)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("max_bins", [255, 256, 2000])
def test_wide_codes_from_large_to_sparse_nodes(max_bins, missing):
    n_values = min(max_bins, 1500)
    X, y = make_data(5000, 5, seed=1, n_values=n_values, missing=missing)
    for criterion in CRITERIA:
        common = {"criterion": criterion, "max_bins": max_bins, "max_depth": 7}
        check_tree(grow(X, y, **common), X, y, criterion, full=False)
        check_tree(grow(X, y, "extra-trees", **common), X, y, criterion, best=False)


@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("n", [65_535, 65_536])
def test_real_targets_where_their_packed_sums_end(n, far):
    """Targets that are no classes, with and without one that is far from the others: where it is
    in a node, what the others gain is below its rounding, and once it has left, they count."""
    X, y = make_data(n, 5, seed=3, missing=True)
    y = y + np.random.default_rng(4).random(n)
    y[0] += far
    X[0, 0] = 99
    check_tree(
        grow(X, y, criterion="squared_error", max_depth=4), X, y, "squared_error", full=False
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", ["rf-point", "extra-trees"])
@pytest.mark.parametrize("kind", ["classes", "reals"])
@pytest.mark.parametrize("n", [40, 6000])
def test_documents_that_a_bootstrap_draws_again_count_again(n, kind, name, missing):
    """The tree is that of the documents as they were drawn, listed one by one; some of them, which
    weigh much, are drawn many times."""
    X, y = make_data(n, 5, seed=7, missing=missing)
    if kind == "reals":
        y = y + np.random.default_rng(8).random(n)
    min_leaf = 1 if missing else 4
    weight = np.where(np.arange(n) % 19 == 0, 40.0, 1.0)
    ranker = make_ranker(
        name,
        n_estimators=1,
        max_features="all",
        criterion="squared_error",
        sampling="bootstrap",
        subsample=1.0,
        weighting="draw",
        min_samples_leaf=min_leaf,
        max_depth=8,
        random_state=0,
    ).fit(X, y, group_sizes=[n], sample_weight=weight)
    sample = _native.ForestSample("bootstrap", n, weight)
    drawn = sample.draw(np.array([0, n]), seed=int(ranker.tree_seeds_[0]), tree_number=0)
    assert np.bincount(drawn).max() > 8
    best, tree = name == "rf-point", ranker.model_.ensemble
    check_tree(tree, X[drawn], y[drawn], "squared_error", None, min_leaf, best=best, full=False)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["queries", "bootstrap"])
@pytest.mark.parametrize("labels", [[0, 1], [2, 3, 4, 5, 6], [0, 3, 32], np.arange(40), "reals"])
@pytest.mark.parametrize("missing", [False, True])
def test_features_that_are_tried_together_split_as_those_tried_one_by_one(
    labels, sampling, missing
):
    """Columns that are mostly zero, constant, of two and of many values. All thresholds but for a
    part of 1e-12, which is none, are tried one by one; the first of equal features is split."""
    rng = np.random.default_rng(5)
    X, y = make_data(600, 5 if isinstance(labels, str) else len(labels), seed=6)
    X = np.c_[X, rng.integers(0, 200, (len(X), 30))].astype(np.float32)
    X[:, ::3] *= rng.random(X[:, ::3].shape) < 0.3
    X[:, 20:24] = X[:, 4:8]
    y = (
        y + rng.random(len(y))
        if isinstance(labels, str)
        else np.asarray(labels, float)[y.astype(int)]
    )
    if missing:
        X[:, 5:12][rng.random((len(X), 7)) < 0.1] = np.nan
    common = {"criterion": "squared_error", "sampling": sampling, "min_samples_leaf": 1 + missing}
    for max_features in ("all", 16, 10, 9):
        tree = grow(X, y, max_features=max_features, **common)
        one_by_one = {"threshold_fraction": 1 - 1e-12, "max_features": max_features}
        check_same(tree, grow(X, y, **one_by_one, **common))
        if max_features == "all" and sampling == "queries":
            check_tree(tree, X, y, "squared_error", None, common["min_samples_leaf"])
