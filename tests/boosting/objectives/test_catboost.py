"""First trees and losses that are CatBoost's own, where definitions agree."""

import numpy as np
import pytest

import rankgrove

catboost = pytest.importorskip("catboost")

SIZES = [1, 7, 12, 30, 5, 20, 2]


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.integers(0, 6, (sum(SIZES), 4)).astype(np.float32)  # ties, also inside queries
    X[:, 3] = 2.0
    y = random.integers(0, 4, len(X)) + (X[:, 0] > 2)
    return X, y.astype(float), np.repeat(np.arange(len(SIZES)), SIZES)


def first_tree_of_catboost(loss, X, y, qid):
    model = catboost.CatBoost(
        {
            "loss_function": loss,
            "iterations": 1,
            "learning_rate": 1.0,
            "depth": 2,
            "l2_leaf_reg": 3.0,
            "bootstrap_type": "No",
            "random_strength": 0,
            "boost_from_average": False,
            "leaf_estimation_method": "Newton",
            "leaf_estimation_iterations": 1,
            "leaf_estimation_backtracking": "No",
            "score_function": "L2",
            "thread_count": 1,
            "verbose": 0,
            "allow_writing_files": False,
        }
    )
    return model.fit(catboost.Pool(X, y, group_id=qid)).predict(X)


def first_tree(name, X, y, qid, **params):
    common = {"n_estimators": 1, "learning_rate": 1.0, "tree": "oblivious", "max_depth": 2}
    ranker = rankgrove.make_ranker(name, **common, l2=3.0, **params)
    return ranker.fit(X, y, qid=qid).predict(X)


@pytest.mark.parametrize(
    ("loss", "name", "params"),
    [
        ("QueryRMSE", "queryrmse", {}),
        ("PairLogit", "pairlogit", {}),
        ("QuerySoftMax", "querysoftmax", {}),
        ("QuerySoftMax:beta=0.5;lambda=0.2", "querysoftmax", {"beta": 0.5, "damping": 0.2}),
    ],
)
def test_first_tree_is_that_of_catboost(loss, name, params, data):
    want = first_tree_of_catboost(loss, *data)
    assert len(np.unique(want)) > 2
    got = first_tree(name, *data, **params)
    level = want[0] - got[0] if name == "pairlogit" else 0.0  # CatBoost centres leaves of pairs
    np.testing.assert_allclose(got + level, want, atol=1e-6)
