"""Other libraries in a comparison learn from the same weights, with parameters that they know."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.data.dataset import Dataset
from rankgrove.data.folds import Fold, kfold
from rankgrove.experiments.peers import fit_peer

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
    score, _ = fit_peer(library, target, params, fold, seed=0, rounds=None, n_jobs=1)
    return score(data.X, 1)


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
        ("lightgbm", "lambdarank", {"num_leafs": 63}, "'num_leafs': did you mean 'num_leaf"),
        ("xgboost", "rank:ndcg", {"max_leafs": 63}, '"max_leafs"'),
        ("sklearn", "RandomForestRegressor", {"n_tree": 2}, "n_tree"),
    ],
)
def test_a_parameter_that_would_be_ignored_is_refused(library, target, params, message, tiny_data):
    fold = next(kfold(tiny_data, 3))
    with pytest.raises((ValueError, TypeError), match=message):
        fit_peer(library, target, params, fold, seed=0, rounds=None, n_jobs=1)


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
    _, n_trees = fit_peer(library, target, params, fold, seed=0, rounds=None, n_jobs=1)
    assert n_trees == 2
