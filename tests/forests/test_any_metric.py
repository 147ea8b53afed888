"""Listwise splits by any metric, against brute force over all orders of tied documents."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import rankgrove
from oracles.forest import expected_by_orders
from rankgrove.datasets import make_ranking
from rankgrove.metrics.expected_metric import (
    MAX_ORDERS,
    SAMPLED_ORDERS,
    distinct_orders,
    expected_metric,
    n_orders,
)
from rankgrove.metrics.parsing import metric
from rankgrove.rankers.base.registry import make_ranker
from support.grown_trees import check_listwise, tied_data

pytestmark = [
    pytest.mark.filterwarnings("ignore:every document gets the same score"),
    pytest.mark.filterwarnings("ignore:.*every label is"),
]


def dcg(labels, k):
    return sum((2**c - 1) / math.log2(r + 1) for r, c in enumerate(labels[:k], 1))


def ndcg(labels, k):
    ideal = dcg(sorted(labels, reverse=True), k)
    return dcg(labels, k) / ideal if ideal else 0.0


def mean_ndcg(labels):
    return sum(ndcg(labels, k) for k in range(1, len(labels) + 1)) / len(labels)


def pairs(labels):
    """Pairs in the right order, in the wrong one, and all pairs."""
    right = sum(a > b for i, a in enumerate(labels) for b in labels[i + 1 :])
    wrong = sum(a < b for i, a in enumerate(labels) for b in labels[i + 1 :])
    return right, wrong, len(labels) * (len(labels) - 1) / 2


def pair_accuracy(labels):
    right, wrong, _ = pairs(labels)
    return right / (right + wrong) if right + wrong else None


def tau_b(labels):
    right, wrong, total = pairs(labels)
    return (right - wrong) / math.sqrt(total * (right + wrong)) if right + wrong else None


def spearman(labels):
    if len(set(labels)) < 2:
        return None
    ranks = [sum(b < a for b in labels) + sum(b == a for b in labels) / 2 for a in labels]
    return float(np.corrcoef(ranks, -np.arange(len(labels)))[0, 1])


def cut_dcg(labels):
    """DCG@3 whose k becomes the length of shorter lists."""
    return dcg(labels, 3)


def cut_precision(labels):
    return sum(c >= 1 for c in labels[:3]) / min(3, len(labels))


# The text of a metric and the same by its definition; None leaves the query out.
NAMED = {
    "meanndcg": mean_ndcg,
    "pair-accuracy": pair_accuracy,
    "tau": tau_b,
    "spearman": spearman,
    "spearman(empty=0)": lambda labels: spearman(labels) or 0.0,
    "dcg@3(short=cut)": cut_dcg,
    "p@3(short=cut)": cut_precision,
    "ndcg@3(empty=skip)": lambda labels: ndcg(labels, 3) if max(labels) > 0 else None,
    "map(empty=1)": lambda labels: (
        sum(i / r for i, r in enumerate((r for r, c in enumerate(labels, 1) if c), 1))
        / sum(c > 0 for c in labels)
        if max(labels)
        else 1.0
    ),
}


def counted(queries, y, value):
    """The queries that the metric does not leave out."""
    return [rows for rows in queries if rows and value([y[i] for i in rows]) is not None]


def checked_splits(given, value, n_seeds=15, weighted=False):
    """Number of splits of small trees, each of which is the best by brute force."""
    n_splits = 0
    for seed in range(n_seeds):
        X, y, sizes, queries = tied_data(seed, missing=weighted, longest=5)
        weight = None
        if weighted:
            weight = np.random.default_rng(seed).integers(1, 5, len(y)) / 2.0
        queries = counted(queries, y, value)
        if queries:
            settings = {"value": value}
            n_splits += check_listwise(X, y, sizes, queries, given, settings, weight=weight)[-1]
    return n_splits


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMED)
def test_splits_by_any_named_metric_are_the_best_by_all_orders(name, weighted):
    assert checked_splits(name, NAMED[name], weighted=weighted) > 10


def first_and_last(labels):
    return float(labels[0] - labels[-1] / 2 + (labels[:2] > 1).all())


def lowest_rank(labels):
    """Mean rank of the relevant documents: the less, the better."""
    ranks = np.flatnonzero(labels > 0)
    return float(ranks.mean()) if len(ranks) else None


lowest_rank.greater_is_better = False


def stable_top(labels, scores):
    """Reads scores, and orders equal ones as they come."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    return float(labels[order[0]] * 2 + labels[order[-1]])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("function", [first_and_last, lowest_rank, stable_top])
def test_splits_by_a_function_are_the_best_by_all_orders(function, weighted):
    sign = 1.0 if getattr(function, "greater_is_better", True) else -1.0

    def value(labels):
        labels = np.array(labels)
        given = (labels, -np.arange(len(labels))) if function is stable_top else (labels,)
        found = function(*given)
        return None if found is None else sign * found

    assert checked_splits(function, value, n_seeds=10, weighted=weighted) > 8


def test_a_metric_of_the_scores_themselves_sees_the_scores_of_leaves():
    """Mean absolute error: not a matter of ranks at all."""

    def error(labels, scores):
        return -float(np.abs(labels - scores).mean())

    data = make_ranking(6, docs_per_query=8, n_features=3, seed=1)
    tree = make_ranker(
        "rf-list",
        metric=error,
        n_estimators=1,
        subsample=1.0,
        max_features="all",
        max_depth=1,
        min_samples_leaf=1,
    ).fit(data)
    X, y, sizes = np.asarray(data.X), data.y, data.group_sizes
    best = -np.inf
    for feature in range(3):
        for threshold in np.unique(X[:, feature])[:-1]:
            left = X[:, feature] <= threshold
            scores = np.where(left, y[left].mean(), y[~left].mean())
            parts = np.split(np.abs(y - scores), np.cumsum(sizes)[:-1])
            best = max(best, -np.mean([part.mean() for part in parts]))
    whole = np.split(np.abs(y - y.mean()), np.cumsum(sizes)[:-1])
    before = -np.mean([part.mean() for part in whole])
    assert tree.model_.ensemble.gain[0] == pytest.approx(best - before, rel=1e-5)


def test_few_orders_are_listed_and_many_are_drawn_once_for_each_query():
    labels = np.array([2.0, 0, 1, 1, *np.arange(12.0)])
    offsets = np.array([0, 4, 16])
    blocks = [labels[:4]]
    assert n_orders(blocks) == 12 == len({tuple(o) for o in distinct_orders(blocks)})
    calls = []

    def top(ranked):
        calls.append(tuple(ranked))
        return float(ranked[0])

    expected = expected_metric(metric(top), labels, offsets, np.array(["a", "b"]))
    rows = np.arange(16, dtype=np.int32)
    values = expected(rows, offsets, np.zeros(16))
    assert values[0] == pytest.approx(expected_by_orders(list(labels[:4]), [0] * 4, lambda o: o[0]))
    assert len(set(calls)) == 12 + SAMPLED_ORDERS > MAX_ORDERS / 2
    assert values[1] == pytest.approx(5.5, abs=4 * 3.5 / math.sqrt(SAMPLED_ORDERS))
    again = expected_metric(metric(top), labels, offsets, np.array(["a", "b"]))
    alone = again(rows[4:], np.array([0, 12]), np.full(12, 7.0))
    np.testing.assert_array_equal(alone, values[1:])


def test_drawn_orders_do_not_depend_on_threads_or_parts():
    def weighed(labels):
        return float((labels / np.arange(1, len(labels) + 1) ** 2).sum())

    data = make_ranking(12, docs_per_query=12, seed=3)
    common = {"metric": weighed, "random_state": 1, "max_depth": 2, "subsample": 0.5}
    one, two = (
        make_ranker("rf-list", n_estimators=3, n_jobs=jobs, **common).fit(data) for jobs in (1, 2)
    )
    part = make_ranker("rf-list", n_estimators=1, first_tree=2, **common).fit(data)
    np.testing.assert_array_equal(one.predict(data), two.predict(data))
    last = one.model_.ensemble.tree_offsets[2]
    np.testing.assert_array_equal(one.model_.ensemble.value[last:], part.model_.ensemble.value)


def test_hybrid_takes_functions_too(small_data):
    ranker = rankgrove.RFHybrid(metric=first_and_last, n_estimators=1, listwise_levels=1)
    assert ranker.set_params(max_depth=3).fit(small_data).model_.ensemble.n_trees == 1


@pytest.mark.parametrize("name", ["rmse", "p", "recall", "ndcg(ties=doc_id)", "unheard-of"])
def test_metrics_without_an_expectation_are_refused_by_name(name, small_data):
    with pytest.raises(ValueError, match=r"metric of RFList must be .* not '" + name.split("(")[0]):
        make_ranker("rf-list", metric=name).fit(small_data)


@pytest.mark.parametrize("ranker", ["rf-list", "yetiloss", "coordinate-ascent", "bagged"])
def test_a_misspelt_metric_is_told_from_one_without_an_expectation(ranker, small_data):
    with pytest.raises(ValueError, match=r"not 'ndgc@10': unknown metric 'ndgc': did you mean 'nd"):
        make_ranker(ranker, metric="ndgc@10").fit(small_data)
    with pytest.raises(ValueError, match=r"not 'rmse': the metric rmse .* not a mean over queries"):
        make_ranker("rf-list", metric="rmse").fit(small_data)


def test_a_function_that_leaves_out_some_orders_has_no_expectation():
    def picky(labels):
        return None if labels[0] == 0 else 1.0

    X = np.array([[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match=r"metric picky, query 7: .* None for some orders"):
        make_ranker("rf-list", metric=picky).fit(X, [0, 1, 2], qid=[7, 7, 7])


def test_errors_of_a_function_name_metric_and_query(small_data):
    def broken(labels):
        raise ZeroDivisionError("so it is")

    with pytest.raises(ValueError, match=r"metric broken, query .*ZeroDivisionError: so it is"):
        make_ranker("rf-list", metric=broken).fit(small_data)


@pytest.mark.process
def test_a_model_loads_without_the_function(tmp_path, small_data):
    ranker = make_ranker("rf-list", metric=first_and_last, n_estimators=1, max_depth=1)
    path = tmp_path / "model.rg"
    ranker.fit(small_data).save(path)
    code = f"import rankgrove; print(rankgrove.load_model({str(path)!r}).metric)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "first_and_last" in shown.stdout
