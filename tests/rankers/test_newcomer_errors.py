"""Mistakes of newcomers are answered with what to do."""

from __future__ import annotations

import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError


@pytest.fixture(scope="module")
def data():
    return make_ranking(6, docs_per_query=8, n_features=3, seed=3)


def test_a_parameter_given_to_fit_names_the_constructor(data):
    with pytest.raises(TypeError, match=r"parameter of the ranker: MART\(n_estimators=...\)"):
        rankgrove.MART().fit(data, n_estimators=1)


def test_queries_may_be_given_by_position(data):
    params = {"n_estimators": 2, "min_samples_leaf": 1, "random_state": 0}
    by_position = rankgrove.MART(**params).fit(data.X, data.y, data.qid)
    by_name = rankgrove.MART(**params).fit(data.X, data.y, qid=data.qid)
    assert (by_position.predict(data.X) == by_name.predict(data.X)).all()


def test_a_column_name_as_qid_is_refused_with_the_call_that_reads_it(data):
    with pytest.raises(DataError, match=r"not a column name: rankgrove.load\(frame, query='q'\)"):
        rankgrove.MART().fit(data.X, data.y, qid="q")


def test_callbacks_are_checked_before_the_first_step(data):
    with pytest.raises(TypeError, match="callbacks holds 3, which is not a function"):
        rankgrove.MART().fit(data, callbacks=[3])


def test_names_of_classes_make_rankers_and_misspelt_ones_get_a_hint():
    assert type(rankgrove.make_ranker("LambdaMART")) is rankgrove.LambdaMART
    with pytest.raises(AttributeError, match="did you mean 'LambdaMART'"):
        rankgrove.LambdaMart  # noqa: B018 - a lazy attribute


def test_too_few_folds_say_what_the_parts_are(data):
    with pytest.raises(ValueError, match=r"at least 3 \(training, validation and test parts; 2"):
        next(rankgrove.kfold(data, 1))
