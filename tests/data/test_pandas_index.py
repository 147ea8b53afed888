"""Rows are taken as they stand; an index in another order is told."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import rankgrove as rg
from rankgrove.errors import DataWarning

FRAME = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0) % 7})
LABELS = pd.Series(np.arange(60) % 3)
QUERIES = pd.Series(np.arange(60) // 6)


def fit(X, y, qid):
    return rg.MART(n_estimators=2, random_state=0).fit(X, y, qid=qid)


def evaluate(X, y, qid):
    return rg.evaluate(y, X["a"], qid=qid, metrics="ndcg@10")


def load(X, y, qid):
    return rg.load(X, y, qid=qid)


def dataset(X, y, qid):
    return rg.Dataset(X, y, qid)


DOORS = [fit, evaluate, load, dataset]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("shuffled", [1, 2])
def test_an_index_in_another_order_is_told(door, shuffled):
    given = [FRAME, LABELS, QUERIES]
    given[shuffled] = given[shuffled].iloc[::-1]
    with pytest.warns(DataWarning, match="in another order, but rows are taken") as told:
        door(*given)
    assert {warning.filename for warning in told} == {__file__}
    assert len(told) == 1 or door is evaluate  # where labels come first: scores and queries differ


@pytest.mark.parametrize("door", DOORS)
def test_indexes_that_agree_or_tell_nothing_are_silent(door):
    order = np.random.default_rng(0).permutation(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        door(*(values.iloc[order] for values in (FRAME, LABELS, QUERIES)))
        door(FRAME, LABELS.set_axis(np.arange(60) + 100), QUERIES.set_axis(np.zeros(60)))
        door(FRAME.iloc[::-1], LABELS.to_numpy(), QUERIES.to_numpy())
