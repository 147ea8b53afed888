"""First trees that are XGBoost's own, where definitions agree: it doubles the Hessians."""

import numpy as np
import pytest

import rankgrove

xgboost = pytest.importorskip("xgboost")

SIZES = [1, 7, 12, 30, 5, 20, 2]
ALL_PAIRS = {
    "lambdarank_pair_method": "topk",
    "lambdarank_num_pair_per_sample": 100,
    "lambdarank_normalization": False,
}


def first_tree_of_xgboost(loss, X, y, qid):
    settings = {
        "objective": loss,
        "eta": 1.0,
        "max_depth": 2,
        "reg_lambda": 0.0,
        "min_child_weight": 0,
        "base_score": 0.0,
        "nthread": 1,
        **ALL_PAIRS,
    }
    data = xgboost.DMatrix(X, y, qid=qid)
    return xgboost.train(settings, data, 1).predict(data)


@pytest.mark.parametrize(
    ("loss", "name", "params"),
    [
        ("rank:pairwise", "pairlogit", {}),
        ("rank:ndcg", "lambdamart", {"truncation": None, "norm": False}),
        ("rank:map", "lambdamart", {"metric": "map", "truncation": None, "norm": False}),
    ],
)
def test_first_tree_is_half_of_ours(loss, name, params):
    random = np.random.default_rng(0)
    X = random.integers(0, 6, (sum(SIZES), 4)).astype(np.float32)
    y = random.integers(0, 4, len(X)) + (X[:, 0] > 2)
    if loss == "rank:map":
        y = (y > 2).astype(int)
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    shape = {"tree": "levelwise", "max_leaf_nodes": None, "max_depth": 2, "min_samples_leaf": 1}
    ranker = rankgrove.make_ranker(
        name,
        n_estimators=1,
        learning_rate=1.0,
        l2=0.0,
        min_child_weight=0.0,
        random_state=0,
        **shape,
        **params,
    )
    want = first_tree_of_xgboost(loss, X, y, qid)
    assert len(np.unique(want)) > 2
    np.testing.assert_allclose(ranker.fit(X, y, qid=qid).predict(X) / 2, want, atol=1e-5)
