"""A parameter that has no effect in a setting is refused there, not ignored."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking

IDLE = [
    ("lambdamart", {"metric": "map", "gain": "linear"}, "gain .* with metric='map'"),
    ("lambdamart", {"metric": "mrr@10", "gain": [0, 1, 2, 3, 4]}, "gain .* with metric='mrr@10'"),
    ("lambdamart", {"metric": "map", "max_grade": 4.0}, "max_grade"),
    ("lambdamart", {"relevant_from": 2.0}, "relevant_from .* with metric='ndcg'"),
    ("lambdamart", {"max_grade": 4.0}, "max_grade"),
    ("plrank", {"l1": 1.0}, "l1 .* on leaf values"),
    ("mart", {"temperature": 2.0}, "temperature .* with sampling='queries'"),
    ("mart", {"sampling": "goss", "subsample": 0.5}, "subsample .* with sampling='goss'"),
    ("mart", {"sampling": "bayesian", "top_rate": 0.5}, "top_rate"),
    ("mart", {"sampling": "documents", "mvs_reg": 0.5}, "mvs_reg"),
    ("mart", {"sampling": "mvs"}, "sampling .* but subsample=1.0 keeps everything"),
    ("mart", {"sampling": "hard-negatives"}, "sampling .* but subsample=1.0 keeps everything"),
    ("mart", {"sampling": "goss", "top_rate": 0.7, "other_rate": 0.4}, "sum to more than 1"),
    ("rcrank", {"sampling": "bayesian"}, "sampling .*least_squares"),
    ("mart", {"selection_rounds": 3}, "selection_rounds"),
    ("mart", {"max_drop": 3}, "max_drop .* with drop_rate=0"),
    ("plrank", {"tree": "oblivious", "min_samples_leaf": 3}, "min_samples_leaf .* on leaf values"),
    (
        "mart",
        {"random_strength": 1.0, "criterion": lambda a, b, c, d: a * a + c * c},
        "random_strength .* with a criterion of your own",
    ),
    ("rcrank", {"metric": "err", "relevant_from": 2.0}, "relevant_from"),
    ("mart", {"gain": "linear"}, "gain .* with target='label'"),
    ("rf-rand", {"max_features": 2}, "max_features"),
    ("rf-rand", {"min_gain": 0.1}, "min_gain"),
    ("rf-point", {"weighting": "draw"}, "weighting .* without sample_weight"),
    ("rf-rand", {"weighting": "draw"}, "weighting"),
    ("igbrt", {"forest": rankgrove.RandomForest(n_estimators=2), "n_forest_trees": 3}, "n_forest"),
    ("broof", {"error": "median"}, "error"),
    ("broof", {"relevant_from": 2.0}, "relevant_from"),
    ("broof", {"preset": "median", "relevant_from": 2.0}, "relevant_from"),
    ("custom", {"objective": lambda s, y, qid, w: (s - y, w), "compiled": False}, "compiled"),
]

USED = [
    ("lambdamart", {"metric": "err", "gain": "linear", "max_grade": 4.0}),
    ("lambdamart", {"metric": "mrr", "relevant_from": 2.0}),
    ("lambdamart", {"tree": "oblivious", "max_leaf_nodes": 8}),
    ("rcrank", {"max_depth": None, "max_leaf_nodes": 8}),
    ("rcrank", {"min_samples_leaf": 8}),
    ("mcrank", {"sampling": "mvs", "subsample": 0.5, "mvs_reg": 0.5, "min_samples_leaf": 3}),
    ("mcrank", {"sampling": "hard-negatives", "subsample": 0.5, "selection_rounds": 1}),
    ("plrank", {"sampling": "hard-negatives", "subsample": 0.5, "drop_rate": 0.5}),
    ("rcrank", {"sampling": "hard-negatives", "subsample": 0.5}),
    ("plrank", {"tree": "leafwise", "min_samples_leaf": 8, "random_strength": 1.0}),
    ("lambdamart", {"tree": "oblivious", "max_depth": 3, "max_leaf_nodes": 31}),
    ("rcrank", {"max_leaf_nodes": 8}),
    ("mart", {"target": "gain", "gain": "linear"}),
    ("broof", {"preset": "height", "relevant_from": 2.0, "n_trees": 2}),
    ("broof", {"error": "median", "learner_weight": "log", "n_trees": 2}),
]


@pytest.fixture(scope="module")
def data():
    return make_ranking(10, docs_per_query=8, n_features=4, seed=0)


def _id(case):
    return f"{case[0]}-{'-'.join(case[1])}"


@pytest.mark.parametrize(("name", "params", "message"), IDLE, ids=map(_id, IDLE))
def test_parameters_without_effect_are_refused(name, params, message, data):
    ranker = rankgrove.make_ranker(name, n_estimators=2, **params)
    with pytest.raises(ValueError, match=f"parameter.*{message}"):
        ranker.fit(data)


@pytest.mark.parametrize(("name", "params"), USED, ids=map(_id, USED))
def test_parameters_with_an_effect_are_taken(name, params, data):
    rankgrove.make_ranker(name, n_estimators=2, **params).fit(data)


def test_weights_count_in_broof_without_bootstrap(data):
    def fit(weight, preset="gradient"):
        ranker = rankgrove.BROOF(
            preset=preset, bootstrap=False, n_estimators=2, n_trees=2, random_state=0
        )
        return ranker.fit(data, sample_weight=weight).predict(data)

    weight = np.random.default_rng(0).integers(1, 5, data.n_rows).astype(float)
    assert not np.array_equal(fit(weight), fit(None))
    np.testing.assert_allclose(fit(weight), fit(3 * weight), rtol=1e-6)
    assert np.array_equal(fit(np.ones(data.n_rows)), fit(None))


@pytest.mark.parametrize(
    "option", [{"X": 1}, {"metric": "map"}, {"n_repeats": 9}, {"random_state": 1}], ids=str
)
def test_importances_of_splits_take_no_data(option, data):
    ranker = rankgrove.MART(n_estimators=2).fit(data)
    if "X" in option:
        option = {"X": data}
    with pytest.raises(ValueError, match=f"{next(iter(option))} .* kind='permutation' alone"):
        ranker.importances("gain", **option)


def test_a_metric_needs_an_evaluation_set(data):
    with pytest.raises(ValueError, match="eval_metric has no effect without eval_set"):
        rankgrove.MART(n_estimators=2).fit(data, eval_metric="map")
