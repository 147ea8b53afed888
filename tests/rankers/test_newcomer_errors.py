"""Mistakes of newcomers are answered with what to do."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, DataWarning


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


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("booster_", "model_"),
        ("feature_name_", "feature_names_in_"),
        ("n_features_", "n_features_in_"),
        ("save_model", r"save\(path\)"),
        ("get_booster", "model_"),
        ("shap_values", r"explain\(X\).values"),
    ],
)
def test_attributes_of_other_libraries_name_ours(data, name, meant):
    ranker = rankgrove.MART(n_estimators=2, min_samples_leaf=1).fit(data)
    with pytest.raises(AttributeError, match=f"no attribute '{name}': use {meant}$"):
        getattr(ranker, name)
    assert hasattr(ranker, meant.partition("\\")[0])


def test_errors_of_own_attributes_stay_as_they_are(data):
    ranker = rankgrove.MART(n_estimators=2, min_samples_leaf=1)
    with pytest.raises(AttributeError, match="not fitted yet"):
        _ = ranker.feature_importances_
    with pytest.raises(AttributeError, match="no probabilities"):
        _ = ranker.fit(data).predict_proba
    with pytest.raises(AttributeError, match=r"'MART' object has no attribute 'nonsense'$"):
        _ = ranker.nonsense
    for again in (copy.deepcopy(ranker), pickle.loads(pickle.dumps(ranker))):
        np.testing.assert_array_equal(again.predict(data), ranker.predict(data))


def test_data_sets_of_other_libraries_are_refused_by_name(data):
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    catboost = pytest.importorskip("catboost")
    sizes = data.group_sizes
    for given, name in (
        (lightgbm.Dataset(data.X, data.y, group=sizes), "lightgbm.Dataset"),
        (xgboost.DMatrix(data.X, data.y, group=sizes), "xgboost.DMatrix"),
        (catboost.Pool(data.X, data.y, group_id=data.qid), "catboost.Pool"),
    ):
        with pytest.raises(DataError, match=f"fit: X is a {name}.*qid= or group_sizes="):
            rankgrove.MART().fit(given)


def test_a_frame_where_a_dataset_is_wanted_is_refused_by_name(data, tmp_path):
    frame = rankgrove.to_arrow(data).to_pandas()
    with pytest.raises(DataError, match=r"write_parquet takes a Dataset, not DataFrame"):
        rankgrove.write_parquet(frame, tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"write_letor takes a Dataset, not DataFrame"):
        rankgrove.write_letor(frame, tmp_path / "x.txt")
    with pytest.raises(DataError, match=r"labels are one column, not a DataFrame of several"):
        rankgrove.evaluate(frame, data.y)
    assert not list(tmp_path.iterdir())


def test_ids_of_two_columns_and_one_row_as_a_series_say_what_to_do(data):
    frame = pd.DataFrame(data.X)
    with pytest.raises(DataError, match="join the texts of several columns to one id"):
        rankgrove.MART().fit(frame, data.y, qid=frame[[0, 1]])
    ranker = rankgrove.MART(n_estimators=1, min_samples_leaf=1).fit(data)
    with pytest.raises(DataError, match=r"frame.iloc\[:1\] is one of one document"):
        ranker.predict(frame.iloc[0])
    assert len(ranker.predict(frame.iloc[:1])) == 1


def test_a_text_that_is_no_xgboost_model_is_called_so(tmp_path):
    (tmp_path / "model.txt").write_text("tree\nversion=v4\n")
    with pytest.raises(rankgrove.ModelError, match="not an XGBoost model in JSON or UBJSON"):
        rankgrove.from_xgboost(tmp_path / "model.txt")


def test_unknown_parameters_in_a_grid_get_a_hint():
    with pytest.raises(ValueError, match=r"LambdaMART\(\): did you mean 'max_leaf_nodes'\? Valid"):
        rankgrove.LambdaMART().set_params(num_leaves=7)
    with pytest.raises(ValueError, match=r"for estimator LambdaMART\(\)\. Valid parameters are"):
        rankgrove.LambdaMART().set_params(abcdefgh=7)


def test_an_evaluation_set_without_queries_says_so(data):
    with pytest.raises(DataError, match=r"tuple \(X, y, qid\): this tuple has no query ids"):
        rankgrove.MART().fit(data, eval_set=[(data.X, data.y)])


def test_data_without_features_say_where_the_columns_went():
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "grade": [1, 0]})
    with pytest.warns(DataWarning, match="'grade'"):
        nothing = rankgrove.load(frame)
    with pytest.raises(DataError, match="no column is left besides labels, queries, ids"):
        rankgrove.MART().fit(nothing)
