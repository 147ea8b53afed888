"""Fits of several workers on categorical columns give the bytes of one fit on one machine."""

from __future__ import annotations

import numpy as np
import pytest

from fleet import cuts, make_data, saved
from rankgrove.data.core.categories import Categories
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.distributed import Shard
from rankgrove.rankers.base.registry import make_ranker

N_CATEGORIES = 9


def categorical_data():
    data = make_data(40, seed=4)
    codes = np.random.default_rng(1).integers(N_CATEGORIES, size=len(data.y))
    codes[:N_CATEGORIES] = range(N_CATEGORIES)
    X = data.X.copy()
    X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, codes)
    y = np.clip(data.y + (codes % 3 == 0), 0, 4)
    names = tuple("abcdef")
    return data, DenseMatrix(X, names, {2: Categories.of(f"v{i}" for i in range(N_CATEGORIES))}), y


@pytest.mark.parametrize(
    "name", ["lambdamart", "mart", "rcrank", "rankboost", "levelwise", "oblivious"]
)
def test_every_worker_finds_the_splits_of_one_machine(fleet, name):
    settings = {"n_estimators": 6, "random_state": 3, "n_jobs": 1}
    if name != "rankboost":
        settings["min_samples_category"] = 2
    if name in ("levelwise", "oblivious"):
        settings["tree"] = name
        name = "lambdamart"
    data, matrix, y = categorical_data()
    local = make_ranker(name, **settings).fit(matrix, y, qid=data.qid)
    assert 2 in local.model_.ensemble.categorical_features
    for size in (2, 3):
        shards = [
            Shard(matrix.slice_rows(begin, end), y[begin:end], data.qid[begin:end])
            for begin, end in cuts(data, size, seed=size)
        ]
        for result in fleet.fit(make_ranker(name, **settings), shards):
            assert not isinstance(result, Exception), result
            assert result == saved(local)
