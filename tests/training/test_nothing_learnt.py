"""A fit that learns nothing says so, and why."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rankgrove as rg
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataWarning

DATA = make_ranking(12, n_features=5, seed=0)
QUICK = {"n_estimators": 2, "random_state": 0}


@pytest.mark.parametrize(
    "ranker",
    [
        rg.LambdaMART(**QUICK, min_samples_leaf=1),
        rg.PLRank(**QUICK),
        rg.RFList(**QUICK),
        rg.RFPair(**QUICK),
        rg.RankSVM(),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_queries_of_one_document_each(ranker):
    with pytest.warns(DataWarning, match="No query has two documents with different labels"):
        ranker.fit(DATA.X, DATA.y, qid=np.arange(DATA.n_rows))


def test_fewer_documents_than_two_leaves_need():
    with pytest.warns(DataWarning, match=r"min_samples_leaf=20 .*there are 30 in all"):
        rg.LambdaMART(**QUICK, tree="leafwise").fit(DATA.X[:30], DATA.y[:30], qid=DATA.qid[:30])


@pytest.mark.parametrize("ranker", [rg.MART(**QUICK), rg.RFPoint(**QUICK)])
def test_constant_features(ranker):
    with pytest.warns(DataWarning, match="features may be constant"):
        ranker.fit(np.ones_like(DATA.X), DATA.y, qid=DATA.qid)
    assert np.ptp(ranker.predict(DATA.X)) == 0


def test_equal_labels_are_told_once():
    with pytest.warns(DataWarning) as told:
        rg.MART(**QUICK).fit(DATA.X, np.ones(DATA.n_rows), qid=DATA.qid)
    assert ["every label is 1" in str(warning.message) for warning in told] == [True]


@pytest.mark.parametrize("ranker", [rg.LambdaMART(**QUICK), rg.RFPair(**QUICK), rg.RankSVM()])
def test_what_learns_something_is_silent(ranker):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        ranker.fit(DATA)


def test_an_init_model_that_tells_documents_apart_is_enough():
    init_model = rg.MART(**QUICK).fit(DATA)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        rg.LambdaMART(**QUICK, min_gain=1e9).fit(DATA, init_model=init_model)
