"""Other libraries in a comparison learn from the same weights, with parameters that they know.

They are cut on validation data as our own models are.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.data.reading.folds import Fold, kfold
from rankgrove.data.reading.loading import load
from rankgrove.errors import DataError
from rankgrove.experiments.peers import fit_peer
from rankgrove.metrics.parsing import metric as as_metric

PEERS = {
    "lightgbm": ("lambdarank", {"n_estimators": 5, "min_child_samples": 2}),
    "xgboost": ("rank:ndcg", {"n_estimators": 5}),
    "catboost": ("QueryRMSE", {"iterations": 5}),
    "sklearn": ("DecisionTreeRegressor", {"max_depth": 3}),
}


def scores(library, data, weight):
    pytest.importorskip(library)
    weighted = Dataset(data.X, data.y, data.qid, sample_weight=weight)
    fold = Fold(weighted, data, data)
    target, params = PEERS[library]
    return fit(library, target, params, fold).score(data, 1)


def fit(library, target, params, fold, metric="ndcg@5", rounds=None):
    return fit_peer(
        library, target, params, fold, metric=as_metric(metric), seed=0, rounds=rounds, n_jobs=1
    )


@pytest.mark.parametrize("library", PEERS)
def test_weights_of_queries_count(library, tiny_data):
    weight = 1.0 + 9.0 * (tiny_data.groups.query_of_row() % 3 == 0)
    plain = scores(library, tiny_data, None)
    assert not np.allclose(scores(library, tiny_data, weight), plain)
    np.testing.assert_allclose(scores(library, tiny_data, np.ones(tiny_data.n_rows)), plain)


@pytest.mark.parametrize("library", ["xgboost", "catboost"])
def test_weights_that_a_library_cannot_take_are_refused(library, tiny_data):
    weight = 1.0 + np.arange(tiny_data.n_rows) % 2
    with pytest.raises(ValueError, match=f"differs within a query, and {library} weighs whole"):
        scores(library, tiny_data, weight)


@pytest.mark.parametrize(
    ("library", "target", "params", "message"),
    [
        ("lightgbm", "lambdarank", {"num_leafs": 63}, "'num_leafs': did you mean 'num_leaves"),
        ("xgboost", "rank:ndcg", {"max_leafs": 63}, '"max_leafs"'),
        ("sklearn", "RandomForestRegressor", {"n_tree": 2}, "n_tree"),
    ],
)
def test_a_parameter_that_would_be_ignored_is_refused(library, target, params, message, tiny_data):
    fold = next(kfold(tiny_data, 3))
    with pytest.raises((ValueError, TypeError), match=message):
        fit(library, target, params, fold)


@pytest.mark.parametrize(
    ("library", "target", "params"),
    [
        ("lightgbm", "lambdarank", {"num_leaves": 7, "n_estimators": 2, "min_data_in_leaf": 2}),
        ("lightgbm", "lambdarank", {"max_leaf": 7, "num_trees": 2, "lambda_l2": 1.0}),
        ("xgboost", "rank:ndcg", {"max_leaves": 7, "n_estimators": 2, "reg_lambda": 1.0}),
    ],
)
def test_parameters_and_their_other_names_are_known(library, target, params, tiny_data):
    fold = next(kfold(tiny_data, 3))
    assert fit(library, target, params, fold).n_steps <= 2


TREES = {"lightgbm": "n_estimators", "xgboost": "n_estimators", "catboost": "iterations"}


@pytest.mark.slow
@pytest.mark.parametrize("library", TREES)
@pytest.mark.parametrize("metric", ["ndcg@5", "rmse"])
@pytest.mark.parametrize("rounds", [None, 3])
def test_models_are_cut_where_the_metric_is_best_on_validation_data(
    library, metric, rounds, tiny_data
):
    pytest.importorskip(library)
    fold = next(kfold(tiny_data, 3))
    part, measure = fold.validation, as_metric(metric)
    target, params = PEERS[library]
    sign = 1 if measure.greater_is_better else -1

    def grown(n_trees, rounds=None):
        given = {**params, TREES[library]: n_trees}
        found = fit(library, target, given, fold, metric, rounds)
        scores = found.score(part, 1)
        return found.n_steps, scores, sign * measure(part.y, scores, groups=part.groups)

    n_steps, scores, value = grown(30, rounds)
    # Cut at its best by itself, a model of as many trees is the same and none shorter is better.
    same_steps, same_scores, _ = grown(n_steps)
    assert same_steps == n_steps
    np.testing.assert_allclose(scores, same_scores, rtol=1e-5, atol=1e-6)
    if rounds is None:  # else the library may have stopped before
        assert value >= max(grown(n)[2] for n in (1, 2, 3, 4, 5, 15)) - 1e-6


@pytest.mark.parametrize("library", TREES)
def test_what_validation_data_contradict_is_cut_at_once(library, tiny_data):
    pytest.importorskip(library)
    against = Dataset(tiny_data.X, tiny_data.y.max() - tiny_data.y, tiny_data.qid)
    target, params = PEERS[library]
    given = {**params, TREES[library]: 20}
    short = fit(library, target, given, Fold(tiny_data, against, tiny_data)).n_steps
    long = fit(library, target, given, Fold(tiny_data, tiny_data, tiny_data)).n_steps
    assert short < 5 < long <= 20


@pytest.mark.parametrize(
    ("library", "absent", "stays"),
    [
        ("lightgbm", "zero", True),
        ("lightgbm", "missing", False),
        ("xgboost", "zero", False),
        ("xgboost", "missing", True),
        ("catboost", "zero", True),
        ("sklearn", "zero", False),
    ],
)
def test_sparse_data_stay_sparse_where_absent_entries_mean_the_same(
    library, absent, stays, tiny_data, monkeypatch
):
    pytest.importorskip(library)
    values = np.where(np.median(tiny_data.X) < tiny_data.X, tiny_data.X, 0)
    stored = scipy.sparse.csr_matrix(values)
    sparse = load(stored, tiny_data.y, qid=tiny_data.qid, absent=absent, sparse=True)
    dense = Dataset(sparse.X.to_array(), tiny_data.y, tiny_data.qid)
    target, params = PEERS[library]
    expected = fit(library, target, params, Fold(dense, dense, dense)).score(dense, 1)
    if stays:
        monkeypatch.setattr(SparseMatrix, "to_array", None)  # nothing may make it dense
    peer = fit(library, target, params, Fold(sparse, sparse, sparse))
    np.testing.assert_allclose(peer.score(sparse, 1), expected, rtol=1e-5)


BRANDS = [f"brand {letter}" for letter in "abcdefgh"]
NATIVE = {  # models too small for thresholds on the codes of all brands
    "lightgbm": (
        "lambdarank",
        {"n_estimators": 2, "num_leaves": 3, "min_data_per_group": 2, "max_cat_to_onehot": 1},
    ),
    "xgboost": ("rank:ndcg", {"n_estimators": 2, "max_depth": 2, "max_cat_to_onehot": 1}),
    "catboost": ("QueryRMSE", {"iterations": 9, "depth": 2}),
    "sklearn": ("HistGradientBoostingRegressor", {"max_iter": 2, "max_leaf_nodes": 3}),
}


def with_brands(seed, first_brand=None):
    """Return data whose label is known from the brand, of which every other one is good."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"qid": np.arange(400) // 20, "price": random.random(400)})
    brand = random.choice(BRANDS, 400)
    frame["label"] = [2 * (BRANDS.index(name) % 2) for name in brand] + (frame.price > 0.7)
    if first_brand is not None:
        brand[0] = first_brand
    return load(frame.assign(brand=brand), categorical=["brand"])


@pytest.mark.parametrize("library", NATIVE)
@pytest.mark.parametrize("rounds", [None, 3])
def test_categories_are_categories_to_other_libraries(library, rounds):
    pytest.importorskip(library)
    target, params = NATIVE[library]
    train, part = with_brands(0), with_brands(1)
    metric = as_metric("ndcg@5")
    peer = fit(library, target, params, Fold(train, part, part), rounds=rounds)
    scores = peer.score(part, 1)
    codes = [Dataset(np.asarray(one.X), one.y, one.qid) for one in (train, part)]
    numbers = fit(library, target, params, Fold(codes[0], codes[1], codes[1]))
    by_code = metric(part.y, numbers.score(codes[1], 1), groups=part.groups)
    assert metric(part.y, scores, groups=part.groups) > by_code + 0.02
    shifted = with_brands(1, "a brand")  # an unknown one before all others: their codes differ
    assert (shifted.X[1:] != part.X[1:]).any()
    np.testing.assert_allclose(peer.score(shifted, 1)[1:], scores[1:], rtol=1e-6)


def test_a_peer_of_numbers_refuses_categories_by_name():
    part = with_brands(0)
    with pytest.raises(DataError, match=r"Forest.* takes numbers alone.*'brand'.*Hist"):
        fit("sklearn", "RandomForestRegressor", {}, Fold(part, part, part))


@pytest.mark.parametrize("library", NATIVE)
def test_categories_where_a_peer_learnt_numbers_are_refused(library):
    pytest.importorskip(library)
    target, params = NATIVE[library]
    part = with_brands(0)
    numbers = Dataset(np.asarray(part.X), part.y, part.qid, feature_names=part.feature_names)
    with pytest.raises(DataError, match="'brand' holds categories, such as 'brand a', but numbers"):
        fit(library, target, params, Fold(numbers, numbers, numbers)).score(part, 1)


def test_trees_of_a_peer_are_scored_one_after_the_other(tiny_data):
    for library in TREES:
        pytest.importorskip(library)
        target, params = PEERS[library]
        peer = fit(library, target, params, Fold(tiny_data, tiny_data, tiny_data))
        stages = list(peer.stages(tiny_data, 1))
        assert len(stages) == peer.n_steps
        np.testing.assert_allclose(stages[-1], peer.score(tiny_data, 1), rtol=1e-5, atol=1e-6)
