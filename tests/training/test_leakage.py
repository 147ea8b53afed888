"""What is held out should not be what was trained on."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, DataWarning


def fit(train, held_out):
    return rankgrove.LambdaMART(n_estimators=2).fit(train, eval_set=held_out)


def test_shared_queries_are_counted():
    data = make_ranking(12, seed=0)
    rows = np.flatnonzero(np.isin(data.qid, np.unique(data.qid)[:5]))[::-1]
    with pytest.warns(DataWarning, match=r"eval_set 'valid' shares 5 of its 5 queries"):
        fit(data, (data.X[rows], data.y[rows], data.qid[rows]))


def test_ids_are_compared_whether_they_are_integers_or_texts():
    data = make_ranking(12, seed=0)
    rows = np.flatnonzero(np.isin(data.qid, np.unique(data.qid)[:5]))
    with pytest.warns(DataWarning, match=r"eval_set 'valid' shares 5 of its 5 queries"):
        fit(data, (data.X[rows], data.y[rows], data.qid[rows].astype(str)))


def test_shared_queries_of_streams_are_counted(tmp_path):
    data = make_ranking(12, seed=0)
    held_out = data.select_queries(np.arange(3, 8))
    for name, part in (("train.txt", data), ("valid.txt", held_out)):
        rankgrove.write_letor(part, tmp_path / name)
    train, valid = (rankgrove.scan(tmp_path / name) for name in ("train.txt", "valid.txt"))
    read = rankgrove.load(tmp_path / "valid.txt")
    for one, other in ((train, valid), (train, read)):
        with pytest.warns(DataWarning, match=r"eval_set 'valid' shares 5 of its 5 queries"):
            fit(one, other)
    rankgrove.write_letor(make_ranking(12, seed=1), tmp_path / "other.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        fit(train, rankgrove.scan(tmp_path / "other.txt"))


def test_a_copy_of_the_training_data_warns_whatever_its_query_ids():
    data = make_ranking(12, seed=0)
    for qid in (data.qid.copy(), [f"new {query}" for query in data.qid]):
        with pytest.warns(DataWarning, match="eval_set 'valid' holds the training data"):
            fit(data, (data.X, data.y, qid))


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_documents_that_many_queries_have_are_no_sign_of_shared_ones(n_features):
    """Few features of few values: most documents of any query are in every other one, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        for seed in range(0, 8, 2):
            train, held_out = (
                make_ranking(60, n_features=n_features, seed=seed + part) for part in (0, 1)
            )
            fit(train, held_out)


@pytest.mark.parametrize("part", ["other documents", "the very training data"])
def test_honest_sets_pass_silently(part):
    data = make_ranking(12, seed=0)
    held_out = {
        "other documents": make_ranking(12, seed=1),  # with the same numbers
        "the very training data": data,
    }[part]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        fit(data, held_out)


@pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
@pytest.mark.parametrize("name", ["lambdamart", "mcrank", "rf-list", "adarank", "rcrank"])
def test_an_unfit_label_is_told_by_the_row_of_the_caller(name):
    data = make_ranking(12, seed=0)
    order = np.random.default_rng(0).permutation(len(data.y))
    X, y, qid = data.X[order], data.y[order], data.qid[order]
    y[7] = -1
    with pytest.raises(DataError, match=r"label of row 7 \(-1\)"):
        rankgrove.make_ranker(name).fit(X, y, qid=qid)
    with pytest.raises(DataError, match=r"label of row 7 \(-1\)"):
        fit(data, (X, y, qid))
