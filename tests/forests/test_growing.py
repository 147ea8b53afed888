"""The native growers against brute force, on hundreds of small data sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from oracles import forest as oracle
from rankgrove.rankers.base.registry import make_ranker
from support.grown_trees import NOISE, GrownTree, check_listwise, grow, tied_data

pytestmark = [pytest.mark.filterwarnings("ignore:every document gets the same score")]

METRICS = {
    "ndcg": {"gain": lambda c: 2**c - 1, "discount": lambda r: 1 / math.log2(r + 1)},
    "ndcg@3": {
        "gain": lambda c: 2**c - 1,
        "discount": lambda r: 1 / math.log2(r + 1) if r <= 3 else 0.0,
    },
    "ndcg(discount=alpha:0.1)": {
        "gain": lambda c: 2**c - 1,
        "discount": lambda r: 1 / math.log2(r + 1) ** 0.1,
    },
    "ndcg(discount=beta:0.1)": {"gain": lambda c: 2**c - 1, "discount": lambda r: 1 / r**0.1},
    "ndcg(gain=linear)": {"gain": lambda c: c, "discount": lambda r: 1 / math.log2(r + 1)},
    "dcg@2": {
        "gain": lambda c: 2**c - 1,
        "discount": lambda r: 1 / math.log2(r + 1) if r <= 2 else 0.0,
        "normalize": False,
    },
    "p@2": {
        "gain": lambda c: float(c >= 1),
        "discount": lambda r: 0.5 if r <= 2 else 0.0,
        "normalize": False,
    },
    "rbp(persistence=0.5)": {
        "gain": lambda c: float(c >= 1),
        "discount": lambda r: 0.5 * 0.5 ** (r - 1),
        "normalize": False,
    },
}


def average_precision(k=None, cut=False):
    def value(labels):
        relevant = [r for r, c in enumerate(labels, 1) if c >= 1]
        best = min(len(relevant), k) if cut else len(relevant)
        shown = [r for r in relevant if k is None or r <= k]
        return sum(i / r for i, r in enumerate(shown, 1)) / best if best else 0.0

    return value


def reciprocal_rank(k=None):
    def value(labels):
        first = next((r for r, c in enumerate(labels, 1) if c >= 2), math.inf)
        return 1 / first if k is None or first <= k else 0.0

    return value


def expected_reciprocal_rank(k=None, max_grade=4, linear=False):
    def value(labels):
        total, reaches = 0.0, 1.0
        for rank, c in enumerate(labels[:k], 1):
            p = c / max_grade if linear else (2**c - 1) / 2**max_grade
            total += reaches * p / rank
            reaches *= 1 - p
        return total

    return value


BY_ORDERS = {
    "map": average_precision(),
    "map@3": average_precision(3),
    "map@2(denominator=k)": average_precision(2, cut=True),
    "mrr(relevant_from=2)": reciprocal_rank(),
    "mrr@2(relevant_from=2)": reciprocal_rank(2),
    "err": expected_reciprocal_rank(),
    "err@3": expected_reciprocal_rank(3),
    "err(gain=linear,max_grade=3)": expected_reciprocal_rank(None, 3, linear=True),
    "recall@2": lambda labels: (
        sum(c >= 1 for c in labels[:2]) / max(1, sum(c >= 1 for c in labels))
    ),
}
METRICS |= {name: {"value": value} for name, value in BY_ORDERS.items()}
ORDERS = [
    *("breadth-first", "depth-first", "random"),
    *("biggest-first", "most-relevant-first", "best-first"),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", BY_ORDERS)
def test_listwise_splits_are_the_best_by_all_orders_of_tied_documents(metric, weighted):
    n_splits = 0
    for seed in range(25):
        X, y, sizes, queries = tied_data(seed, missing=weighted, longest=6)
        weight = None
        if weighted:
            weight = np.random.default_rng(seed).integers(1, 5, len(y)) / 2.0
        order = ORDERS[seed % len(ORDERS)]
        settings = METRICS[metric]
        args = (X, y, sizes, queries, metric, settings, order, weight)
        _, members, n = check_listwise(*args)
        n_splits += n
        before = oracle.mean_metric(list(members.values()), y, queries, settings, weight)
        if len(members) == 1:
            best = max(
                (
                    oracle.mean_metric(list(parts), y, queries, settings, weight) - before
                    for parts in oracle.partitions(members[0], X)
                    if oracle.mean_score(parts[0], y, weight)
                    != oracle.mean_score(parts[1], y, weight)
                ),
                default=0.0,
            )
            assert best < NOISE
    assert n_splits > 15  # a first relevant document soon has nothing to gain


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("metric", [name for name in METRICS if name not in BY_ORDERS])
def test_listwise_splits_are_the_best_by_equations_11_to_13(metric, order):
    n_splits = 0
    for seed in range(8):
        X, y, sizes, queries = tied_data(1000 * ORDERS.index(order) + seed)
        n_splits += check_listwise(X, y, sizes, queries, metric, METRICS[metric], order)[-1]
    assert n_splits > 5


def test_listwise_splits_with_missing_values_and_weights():
    for seed in range(40):
        X, y, sizes, queries = tied_data(seed, missing=True)
        weight = np.random.default_rng(seed).integers(1, 5, len(y)) / 2
        check_listwise(X, y, sizes, queries, "ndcg", METRICS["ndcg"], weight=weight)


@pytest.mark.parametrize("metric", ["ndcg", "dcg@2", "rbp(persistence=0.5)"])
def test_listwise_splits_of_nodes_with_many_different_thresholds(metric):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(3, 10, 6)
        n = int(sizes.sum())
        X = rng.integers(0, 25, (n, 2)).astype(np.float32)
        y = rng.integers(0, 4, n).astype(float)
        bounds = np.r_[0, np.cumsum(sizes)]
        queries = [list(range(a, b)) for a, b in itertools.pairwise(bounds)]
        assert check_listwise(X, y, sizes, queries, metric, METRICS[metric])[-1] > 1


def test_listwise_growth_stops_only_where_nothing_gains():
    """Breadth-first: the last leaves that were looked at see the final tree."""
    for seed in range(60):
        X, y, sizes, queries = tied_data(seed)
        settings = METRICS["ndcg"]
        tree, members, _ = check_listwise(X, y, sizes, queries, "ndcg", settings)
        if not tree.inner:
            continue
        before = oracle.mean_metric(list(members.values()), y, queries, settings)
        for leaf in (tree.left[tree.inner[-1]], tree.left[tree.inner[-1]] + 1):
            others = [rows for number, rows in members.items() if number != leaf]
            for parts in oracle.partitions(members[leaf], X):
                after = oracle.mean_metric([*others, *parts], y, queries, settings)
                assert after <= before + NOISE


def test_a_larger_data_set_with_tied_scores_across_leaves():
    rng = np.random.default_rng(0)
    sizes = np.full(12, 9)
    X = rng.integers(0, 4, (108, 3)).astype(np.float32)
    y = rng.integers(0, 3, 108).astype(float)
    queries = [list(range(9 * q, 9 * q + 9)) for q in range(12)]
    tree, *_ = check_listwise(X, y, sizes, queries, "ndcg", METRICS["ndcg"])
    scores = tree.value[tree.left < 0]
    assert len(np.unique(scores)) < len(scores)


def test_expected_ndcg_of_table_iii():
    labels = [0, 2, 1, 1, 0, 1, 1]
    scores = [1.7, 1.7, 1.7, 0.9, 0.9, 0.4, 0.4]
    value = oracle.expected_metric(labels, scores, normalize=True, **METRICS["ndcg"])
    gains = [4 / 3] * 3 + [0.5] * 2 + [1.0] * 2
    dcg = sum(g / math.log2(r + 2) for r, g in enumerate(gains))
    ideal = sum(g / math.log2(r + 2) for r, g in enumerate([3, 1, 1, 1, 1]))
    assert value == pytest.approx(dcg / ideal, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["entropy", "gini", "squared_error"])
def test_pointwise_splits_are_the_best_by_brute_force(criterion, weighted):
    for seed in range(40):
        X, y, sizes, _ = tied_data(seed, missing=seed % 2 == 1)
        if criterion == "squared_error" and seed % 3 == 0:
            y = np.random.default_rng(seed).normal(size=len(y))
        weight = np.random.default_rng(seed).integers(1, 5, len(y)) / 2 if weighted else None
        ranker = grow("rf-point", X, y, sizes, weight, criterion=criterion)
        tree = GrownTree(ranker, X)
        members = {0: list(range(len(y)))}
        mass = len(y) if weight is None else weight.sum()
        for node in tree.inner:
            rows = members.pop(node)
            gains = [
                oracle.pointwise_gain(*parts, y, weight, criterion)
                for parts in oracle.partitions(rows, X)
            ]
            left, right = tree.children(node, rows)
            chosen = oracle.pointwise_gain(left, right, y, weight, criterion)
            assert chosen >= max(gains) - NOISE
            share = (len(rows) if weight is None else weight[rows].sum()) / mass
            assert tree.gain[node] == pytest.approx(chosen * share, rel=2e-7, abs=NOISE)
            members.update({tree.left[node]: left, tree.left[node] + 1: right})
        for leaf, rows in members.items():
            assert tree.value[leaf] == pytest.approx(oracle.mean_score(rows, y, weight))
            for parts in oracle.partitions(rows, X):
                assert oracle.pointwise_gain(*parts, y, weight, criterion) <= NOISE


def same_trees(a, b):
    for name in ("feature", "threshold", "left", "missing_left", "value", "count", "gain"):
        np.testing.assert_array_equal(
            getattr(a.model_.ensemble, name), getattr(b.model_.ensemble, name)
        )


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_hybrid_of_no_level_is_pointwise_and_of_all_levels_listwise(web_data, order):
    common = {"n_estimators": 3, "random_state": 1, "node_order": order, "n_jobs": 1}
    common["max_depth"] = 12
    point = make_ranker("rf-point", **common).fit(web_data)
    listwise = make_ranker("rf-list", **common).fit(web_data)
    same_trees(point, make_ranker("rf-hybrid", listwise_levels=0, **common).fit(web_data))
    same_trees(listwise, make_ranker("rf-hybrid", listwise_levels=None, **common).fit(web_data))
    with pytest.raises(AssertionError):
        same_trees(point, listwise)


def test_hybrid_without_fallback_ends_where_no_listwise_split_gains(small_data):
    common = {"n_estimators": 3, "metric": "p@1", "random_state": 0, "min_samples_leaf": 1}
    listwise = make_ranker("rf-list", max_depth=3, **common).fit(small_data).model_.ensemble
    hybrid = make_ranker("rf-hybrid", listwise_levels=3, fallback=False, max_depth=3, **common)
    hybrid = hybrid.fit(small_data).model_.ensemble
    for name in ("feature", "threshold", "left", "value", "count"):
        np.testing.assert_array_equal(getattr(hybrid, name), getattr(listwise, name))
    deeper = make_ranker("rf-hybrid", listwise_levels=8, fallback=False, **common)
    deeper = deeper.fit(small_data).model_.ensemble
    with_fallback = make_ranker("rf-hybrid", listwise_levels=8, **common).fit(small_data)
    with_fallback = with_fallback.model_.ensemble
    assert deeper.count[deeper.left < 0].max() > 100
    assert with_fallback.count[with_fallback.left < 0].max() < 50


def test_fallback_is_refused_where_it_has_no_effect(small_data):
    for levels, which in ((None, "all"), (0, "no")):
        ranker = make_ranker("rf-hybrid", listwise_levels=levels, fallback=False)
        with pytest.raises(ValueError, match=f"fallback .* no effect where {which} levels"):
            ranker.fit(small_data)


def test_hybrid_splits_pointwise_where_no_listwise_split_gains(small_data):
    """Leaves are as small as in RF-point, though p@1 soon has nothing to gain."""
    common = {"n_estimators": 5, "random_state": 1, "metric": "p@1", "min_samples_leaf": 1}
    hybrid = make_ranker("rf-hybrid", **common).fit(small_data).model_.ensemble
    listwise = make_ranker("rf-list", **common).fit(small_data).model_.ensemble
    assert listwise.count[listwise.left < 0].max() > 100
    assert hybrid.count[hybrid.left < 0].max() < 50
    # The root has a listwise gain, and so the same split.
    roots = hybrid.tree_offsets[:-1], listwise.tree_offsets[:-1]
    np.testing.assert_array_equal(hybrid.feature[roots[0]], listwise.feature[roots[1]])
    np.testing.assert_array_equal(hybrid.threshold[roots[0]], listwise.threshold[roots[1]])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["rf-point", "rf-list", "rf-rand", "extra-trees", "rf"])
def test_missing_values_never_seen_in_a_node_follow_the_heavier_child(name, weighted):
    rng = np.random.default_rng(4)
    X = rng.integers(0, 30, (300, 4)).astype(np.float32)
    X[rng.random(300) < 0.05, 0] = np.nan  # most nodes have none of these either
    y = rng.integers(0, 3, 300).astype(float)
    sizes = np.full(30, 10)
    weight = rng.integers(1, 9, 300) / 2.0 if weighted else None
    tree = GrownTree(grow(name, X, y, sizes, weight, sampling="queries"), X)
    mass = np.ones(300) if weight is None else weight
    members = {0: list(range(300))}
    sides = set()
    for node in tree.inner:
        rows = members.pop(node)
        left, right = tree.children(node, rows)
        members.update({tree.left[node]: left, tree.left[node] + 1: right})
        if not np.isnan(X[rows, tree.feature[node]]).any():
            assert tree.missing_left[node] == (mass[left].sum() >= mass[right].sum())
            sides.add(int(tree.missing_left[node]))
    assert sides == {0, 1}


def test_gains_of_random_splits_weigh_documents():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 9, (40, 2)).astype(np.float32)
    y = rng.integers(0, 3, 40).astype(float)
    weight = rng.integers(1, 9, 40) / 2.0
    tree = GrownTree(grow("rf-rand", X, y, np.full(4, 10), weight, sampling="queries"), X)
    members = {0: list(range(40))}
    for node in tree.inner:
        rows = members.pop(node)
        parts = tree.children(node, rows)
        members.update(zip((tree.left[node], tree.left[node] + 1), parts, strict=True))
        mean = np.average(y[rows], weights=weight[rows])
        fall = sum(
            weight[part].sum() * (np.average(y[part], weights=weight[part]) - mean) ** 2
            for part in parts
        )
        assert tree.gain[node] == pytest.approx(fall / weight.sum(), rel=1e-6, abs=1e-12)


def test_a_pointwise_tree_does_not_depend_on_the_node_order(web_data):
    scores = [
        make_ranker("rf-point", n_estimators=3, random_state=1, node_order=order)
        .fit(web_data)
        .predict(web_data)
        for order in ORDERS
    ]
    for other in scores[1:]:
        np.testing.assert_array_equal(scores[0], other)


@pytest.mark.parametrize("order", ORDERS)
def test_max_leaf_nodes_cuts_the_tree_where_the_order_has_got_to(web_data, order):
    common = {"n_estimators": 1, "random_state": 1, "node_order": order}
    full = make_ranker("rf-point", **common).fit(web_data).model_.ensemble
    for limit in (3, 40, 200):
        cut = make_ranker("rf-point", max_leaf_nodes=limit, **common).fit(web_data).model_.ensemble
        assert cut.n_leaves[0] == limit
        np.testing.assert_array_equal(cut.value, full.value[: 2 * limit - 1])


@pytest.mark.parametrize("max_leaf_nodes", [2, 3, 20, 77])
def test_best_first_trees_are_those_of_scikit_learn(max_leaf_nodes):
    rng = np.random.default_rng(7)
    X = np.stack([rng.permutation(400) for _ in range(5)], axis=1).astype(np.float32)
    y = X[:, 0] * X[:, 1] / 4e4 + rng.normal(size=400)  # no two splits gain the same
    peer = DecisionTreeRegressor(max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, y)
    forests = [
        grow(
            "rf",
            X,
            y,
            np.full(40, 10),
            sampling="queries",
            max_leaf_nodes=max_leaf_nodes,
            max_bins=65534,
            n_estimators=3,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    ]
    same_trees(*forests)
    trees = forests[0].model_.ensemble
    assert trees.n_leaves.tolist() == [max_leaf_nodes] * 3
    np.testing.assert_allclose(forests[0].predict(X), peer.predict(X), rtol=1e-6, atol=1e-6)
    leaves, peers = forests[0].apply(X)[:, 0], peer.apply(X)
    np.testing.assert_array_equal(leaves[:, None] == leaves, peers[:, None] == peers)
    # A leaf is split after all leaves that gain more and are there.
    first = slice(0, 2 * max_leaf_nodes - 1)
    left, gain = trees.left[first], trees.gain[first]
    made = {0: 0}
    inner = sorted(np.flatnonzero(left >= 0), key=lambda node: left[node])
    for turn, node in enumerate(inner):
        made.update({left[node]: turn + 1, left[node] + 1: turn + 1})
    for turn, node in enumerate(inner):
        for later in inner[turn + 1 :]:
            assert made[later] > turn or gain[later] <= gain[node]


def test_rf_grows_best_first_only_with_max_leaf_nodes(small_data):
    common = {"n_estimators": 2, "random_state": 1}
    for limit, order in ((None, "breadth-first"), (20, "best-first")):
        usual = make_ranker("rf", max_leaf_nodes=limit, **common).fit(small_data)
        named = make_ranker("rf", max_leaf_nodes=limit, node_order=order, **common)
        same_trees(usual, named.fit(small_data))


def test_gains_that_do_not_compare_have_no_best_first_order(small_data):
    with pytest.raises(ValueError, match="node_order of RFHybrid must not be 'best-first'"):
        make_ranker("rf-hybrid", node_order="best-first").fit(small_data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rf-point", "rf-list"])
def test_more_than_255_values_per_feature_are_told_apart(name):
    """Two-byte codes: the root's split is the best of all 269 thresholds."""
    rng = np.random.default_rng(3)
    sizes = np.full(45, 6)
    X = rng.permutation(270).reshape(270, 1).astype(np.float32)
    y = np.clip(X[:, 0] / 90 + rng.normal(size=270), 0, 3).round()
    queries = [list(range(6 * q, 6 * q + 6)) for q in range(45)]
    tree = GrownTree(grow(name, X, y, sizes, max_bins=1000, max_depth=1), X)
    rows = list(range(270))
    left, right = tree.children(0, rows)
    if name == "rf-point":

        def gain(parts):
            return oracle.pointwise_gain(*parts, y, None, "entropy")
    else:
        settings = {"normalize": True, **METRICS["ndcg"]}
        before = oracle.mean_metric([rows], y, queries, settings)

        def gain(parts):
            return oracle.mean_metric(parts, y, queries, settings) - before

    best = max(gain(parts) for parts in oracle.partitions(rows, X))
    assert gain((left, right)) >= best - NOISE
    assert tree.gain[0] == pytest.approx(best, rel=2e-7)
