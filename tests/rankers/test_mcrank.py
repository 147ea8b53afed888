from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import ModelError
from rankgrove.formats.container import write_container
from rankgrove.formats.ranker_state import pack
from rankgrove.rankers.lambdamart import LambdaMART
from rankgrove.rankers.mcrank import McRank
from rankgrove.trees.scorer import Scorer


@pytest.fixture(scope="module")
def train():
    return make_ranking(40, docs_per_query=15, n_features=8, seed=1)


def mcrank(**params):
    return McRank(**{"n_estimators": 6, "random_state": 0, "n_jobs": 1, **params})


@pytest.mark.parametrize("ordinal", [False, True])
def test_scores_are_expected_gains(train, ordinal):
    ranker = mcrank(ordinal=ordinal, n_estimators=40).fit(train)
    scores = ranker.predict(train)
    assert scores.min() >= train.y.min()
    assert scores.max() <= train.y.max()
    assert scores.mean() == pytest.approx(train.y.mean(), abs=0.05)
    assert ranker.model_.ensemble.n_outputs == len(np.unique(train.y)) - ordinal


@pytest.mark.parametrize("ordinal", [False, True])
@pytest.mark.parametrize("grades", [2, 5])
def test_evaluating_continuing_and_stages(train, ordinal, grades):
    y = np.minimum(train.y, grades - 1)
    data = rankgrove.Dataset(train.X, y, train.qid)
    whole = mcrank(ordinal=ordinal).fit(data, eval_set={"train": data}, eval_metric="rmse")
    half = mcrank(ordinal=ordinal, n_estimators=3).fit(data)
    rest = mcrank(ordinal=ordinal, n_estimators=3).fit(data, init_model=half)
    np.testing.assert_array_equal(rest.predict(data), whole.predict(data))
    rmse = rankgrove.metric("rmse")
    stages = [rmse(y, scores, qid=train.qid) for scores in whole.staged_predict(data)]
    np.testing.assert_allclose(whole.evals_result_["train"]["rmse"], stages, rtol=1e-12)
    np.testing.assert_array_equal(scores_of_last_stage(whole, data), whole.predict(data))


def scores_of_last_stage(ranker, data):
    *_, last = ranker.staged_predict(data)
    return last


def test_init_model_with_other_outputs_is_refused(train):
    with pytest.raises(ModelError, match="McRank can only continue a model with the same outputs"):
        mcrank().fit(train, init_model=LambdaMART(n_estimators=2).fit(train))
    with pytest.raises(ModelError, match="can only continue"):
        mcrank().fit(train, init_model=mcrank(ordinal=True).fit(train))


def test_mcrank_can_be_the_init_model_of_others(train, tmp_path):
    init_model = mcrank().fit(train)
    ranker = LambdaMART(n_estimators=3, random_state=0).fit(train, init_model=init_model)
    raw = Scorer(ranker.model_.parts[-1].ensemble).predict(train.X)
    np.testing.assert_array_equal(ranker.predict(train), raw + init_model.predict(train))
    ranker.save(tmp_path / "model.rg")
    loaded = rankgrove.load_model(tmp_path / "model.rg")
    np.testing.assert_array_equal(loaded.predict(train), ranker.predict(train))


def test_mcrank_warns_of_many_real_valued_grades(small_data):
    X, qid = small_data.X, small_data.qid
    labels = np.random.default_rng(0).integers(0, 30, len(X)) / 3
    with pytest.warns(rankgrove.DataWarning, match="30 distinct labels"):
        rankgrove.McRank(n_estimators=1).fit(X, labels, qid=qid)


@pytest.mark.parametrize(
    "params", [{}, {"ordinal": True, "gain": [0, 5, 1, 2, 3]}], ids=["multiclass", "gains fall"]
)
def test_monotone_scores_are_not_promised_where_rising_outputs_may_lower_them(train, params):
    ranker = mcrank(monotone=[1] + [0] * 7, **params)
    with pytest.raises(ValueError, match="McRank may fall where all its outputs rise"):
        ranker.fit(train)


def test_monotone_constraints_hold_in_the_ordinal_form(train):
    ranker = mcrank(ordinal=True, monotone=[-1] + [0] * 7, n_estimators=20).fit(train)
    path = np.tile(train.X[:1], (100, 1))
    path[:, 0] = np.linspace(train.X[:, 0].min(), train.X[:, 0].max(), 100)
    assert (np.diff(ranker.predict(path)) <= 0).all()


@pytest.mark.parametrize("name", ["grades", "grade_gains"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_file_whose_grades_are_no_numbers_is_refused(train, tmp_path, name, value):
    state, arrays = pack(mcrank().fit(train))
    broken = arrays[f"model/{name}"].copy()
    broken[0] = value
    with (tmp_path / "broken.rg").open("wb") as stream:
        write_container(stream, state, {**arrays, f"model/{name}": broken})
    with pytest.raises(ModelError, match=f"{name} are not 5 numbers"):
        rankgrove.load_model(tmp_path / "broken.rg")
