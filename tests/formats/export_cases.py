"""Models to be exported, and rows on their edges."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import rankgrove

N_FEATURES = 8


NAMES = tuple(f"feature {j}" for j in range(N_FEATURES))


@functools.cache
def data(missing: bool = True):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, N_FEATURES)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1] * 2)
    X[:, 2] *= 1e-6  # gaps below the slack of Solr
    X[:, 3] *= 1e6
    y = np.clip(np.round(X[:, 0] + X[:, 1] + X[:, 2] * 1e6 + rng.normal(size=600)), 0, 3)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y, np.repeat(np.arange(30), 20)


def lightgbm_model():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = data()
    params = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    train = lightgbm.Dataset(X, y, group=np.bincount(qid))
    return rankgrove.from_lightgbm(lightgbm.train(params, train, 10))


def xgboost_model(objective: str = "rank:ndcg"):
    xgboost = pytest.importorskip("xgboost")
    X, y, qid = data()
    matrix = xgboost.DMatrix(X, np.minimum(y, 1) if "logistic" in objective else y)
    if objective.startswith("rank"):
        matrix.set_info(qid=qid)
    params = {"objective": objective, "base_score": 0.3, "nthread": 1, "max_depth": 4}
    return rankgrove.from_xgboost(xgboost.train(params, matrix, 10))


def fitted(ranker, missing: bool = True):
    X, y, qid = data(missing)
    return ranker.fit(X, y, qid=qid)


def with_base_score():
    from sklearn.ensemble import GradientBoostingRegressor

    X, y, _ = data(missing=False)
    return rankgrove.from_sklearn(GradientBoostingRegressor(n_estimators=8).fit(X, y + 100))


MODELS = {
    "boosted": lambda: fitted(rankgrove.LambdaMART(n_estimators=30, random_state=0)),
    "one tree": lambda: fitted(rankgrove.LambdaMART(n_estimators=1, random_state=0)),
    "single leaf": lambda: fitted(
        rankgrove.MART(n_estimators=2, min_samples_leaf=400, random_state=0)
    ),
    "forest": lambda: fitted(rankgrove.RandomForest(n_estimators=3, random_state=0)),
    "oblivious": lambda: fitted(rankgrove.RCRank(n_estimators=5, random_state=0)),
    "fill": lambda: fitted(rankgrove.MART(n_estimators=8, missing="median", random_state=0)),
    "zero": lambda: fitted(
        rankgrove.LambdaMART(n_estimators=8, tree="leafwise", missing="zero", random_state=0)
    ),
    "infinite fill": lambda: fitted(rankgrove.MART(n_estimators=8, missing="inf", random_state=0)),
    "branches": lambda: fitted(rankgrove.MART(n_estimators=8, missing="branch", random_state=0)),
    "base score": with_base_score,
    "lightgbm": lightgbm_model,
    "xgboost": xgboost_model,
}


@functools.cache
def model_of(name: str):
    return MODELS[name]()


def edge_rows(ranker, n_rows: int = 400, wide: bool = False):
    """Rows of the values that the model tells apart; ``wide``: also values between float32s."""
    rng = np.random.default_rng(5)
    ensemble = ranker.model_.ensemble
    X = data()[0][rng.integers(600, size=n_rows)].astype(np.float64)
    for feature in range(N_FEATURES):
        on = ensemble.threshold[(ensemble.feature == feature) & np.isfinite(ensemble.threshold)]
        if len(on):
            picks = rng.choice(on, n_rows)
            with np.errstate(over="ignore"):
                up = np.nextafter(picks, np.float32(np.inf))
            down = np.nextafter(picks, np.float32(-np.inf))
            share = rng.uniform(size=n_rows)
            between = picks + (up.astype(np.float64) - picks) * share if wide else up
            choices = [picks, up, down, between, X[:, feature]]
            X[:, feature] = np.choose(rng.integers(5, size=n_rows), choices)
    # XGBoost takes no infinities, and has no number above the largest; tiny ones are 0 to LightGBM.
    X[np.abs(X) >= np.finfo(np.float32).max] = 0.0
    X[np.abs(X) <= 1e-35] = 0.0
    X[rng.random(X.shape) < 0.1] = np.nan
    return X if wide else X.astype(np.float32)


def exported(ranker, to: str, path, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*thresholds cannot be written for Solr")
        return ranker.export(path, to, feature_names=NAMES, **options)


def assert_close(found, expected, to: str):
    """Float64 targets give the same bits; float32 ones the rounding of a sum."""
    if to in ("lightgbm", "vespa", "c"):
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def QUERIES(n_rows):  # noqa: N802
    from rankgrove.data.core.queries import QueryGroups

    return QueryGroups.from_sizes([n_rows])
