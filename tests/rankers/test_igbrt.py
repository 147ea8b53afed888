"""iGBRT: a forest and the trees that improve it, as regression and as ordinal classification."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rankgrove
from rankgrove import GBRT, IGBRT, RandomForest
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, ModelError

TASKS = ["regression", "classification"]


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, docs_per_query=15, n_features=8, seed=1)


def forest(**params):
    return RandomForest(**{"n_estimators": 5, "random_state": 3, "max_features": 0.5, **params})


def igbrt(**params):
    size = {} if "forest" in params else {"n_forest_trees": 5}
    return IGBRT(**{"n_estimators": 4, "random_state": 0, **size, **params})


@pytest.mark.filterwarnings("ignore:X has names for its columns")
@pytest.mark.parametrize("task", TASKS)
def test_boosting_fits_what_the_forest_left(data, task):
    """Algorithm 3: the residuals of the forest are the targets of plain GBRT trees."""
    start = forest(task=task).fit(data)
    ranker = igbrt(task=task, forest=start, n_estimators=1, learning_rate=0.3).fit(data)
    trees = ranker.model_.ensemble
    outputs = start.compile().raw(data.X)
    grades = np.unique(data.y)
    for output in range(trees.n_outputs):
        target = data.y if task == "regression" else (data.y >= grades[output + 1]).astype(float)
        residual = target - outputs[:, output]
        alone = GBRT(n_estimators=1, learning_rate=0.3).fit(data.X, residual, qid=data.qid)
        mean = residual.mean()  # GBRT starts there, iGBRT at the forest
        expected = (alone.predict(data) - mean) / 0.3 + mean
        new = rankgrove.TreeEnsemble.head(trees, trees.n_trees).tail(
            trees.n_trees - trees.n_outputs + output
        )
        found = rankgrove.trees.scorer.Scorer(new.head(1)).raw(data.X)[:, output] / 0.3
        np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_the_sum_is_one_scorer_and_one_file(data, task, tmp_path):
    start = forest(task=task).fit(data)
    ranker = igbrt(task=task, forest=start).fit(data)
    assert ranker.model_.kind == "trees"
    assert ranker.model_.n_steps == 4
    np.testing.assert_array_equal(ranker.compile().predict(data.X), ranker.predict(data))
    np.testing.assert_allclose(ranker.model_.plain().scores(data.X), ranker.predict(data))
    ranker.save(tmp_path / "m.rg")
    loaded = rankgrove.load_model(tmp_path / "m.rg")
    np.testing.assert_array_equal(loaded.predict(data), ranker.predict(data))
    with pytest.raises(ValueError, match=r"forest of IGBRT was a fitted RandomForest.*set it"):
        loaded.fit(data)  # it would grow another one
    igbrt(task=task, forest=forest(task=task)).fit(data).save(tmp_path / "m.rg")
    loaded = rankgrove.load_model(tmp_path / "m.rg")
    assert loaded.forest.get_params() == {**start.get_params(), "n_jobs": None}


def test_the_forest_is_the_one_that_would_be_grown_alone(data):
    ranker = igbrt(n_estimators=1, learning_rate=1e-12).fit(data)
    full = {"min_samples_leaf": 1, "max_features": 0.1}
    alone = RandomForest(n_estimators=5, random_state=0, **full).fit(data)
    np.testing.assert_allclose(ranker.predict(data), alone.predict(data), atol=1e-9)


def test_out_of_bag_residuals(data):
    """Boosting fits what is left by the trees that did not see the document."""
    start = forest(oob_score=True).fit(data)
    oob, in_sample = start.oob_prediction_, start.predict(data)
    known = ~np.isnan(oob)
    assert 0.5 < known.mean() < 1
    residual = data.y - np.where(known, oob, in_sample)
    alone = GBRT(n_estimators=1, learning_rate=0.3).fit(data.X, residual, qid=data.qid)
    expected = (alone.predict(data.X) - residual.mean()) / 0.3 + residual.mean()
    ranker = igbrt(forest=start, residuals="oob", n_estimators=1, learning_rate=0.3).fit(data)
    np.testing.assert_allclose((ranker.predict(data) - in_sample) / 0.3, expected, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_metrics_of_the_training_data_are_those_of_the_model(data, task):
    """Also where boosting starts from out-of-bag predictions, which the model does not make."""
    start = forest(task=task, oob_score=True, n_estimators=20).fit(data)
    for residuals in ("in-sample", "oob"):
        ranker = igbrt(task=task, forest=start, residuals=residuals).fit(
            data, eval_set={"train": data}, eval_metric="rmse"
        )
        rmse = [np.sqrt(np.mean((s - data.y) ** 2)) for s in ranker.staged_predict(data)]
        np.testing.assert_allclose(ranker.evals_result_["train"]["rmse"], rmse, rtol=1e-9)
    with pytest.raises(ModelError, match="oob_score=True"):
        igbrt(task=task, forest=forest(task=task).fit(data), residuals="oob").fit(data)


@pytest.mark.filterwarnings("ignore:X has names for its columns")
def test_classification_is_the_expected_grade_of_binary_forests(data):
    ranker = forest(task="classification", oob_score=True).fit(data)
    grades = np.unique(data.y)
    expected = np.full(data.n_rows, grades[0])
    oob = np.full(data.n_rows, grades[0])
    for low, grade in itertools.pairwise(grades):
        part = forest(oob_score=True).fit(data.X, data.y >= grade, qid=data.qid)
        expected += (grade - low) * part.predict(data)
        oob += (grade - low) * part.oob_prediction_
    np.testing.assert_allclose(ranker.predict(data), expected, rtol=1e-6)
    np.testing.assert_allclose(ranker.oob_prediction_, oob, rtol=1e-6)
    scores = ranker.predict(data)
    assert scores.min() >= grades[0]
    assert scores.max() <= grades[-1]


def test_a_classifying_forest_grows_in_parts_and_goes_on(data):
    whole = forest(task="classification", n_estimators=6).fit(data)
    parts = [
        forest(task="classification", n_estimators=3, first_tree=first).fit(data)
        for first in (0, 3)
    ]
    np.testing.assert_array_equal(rankgrove.merge(*parts).predict(data), whole.predict(data))
    grown = forest(task="classification", n_estimators=3, warm_start=True).fit(data)
    grown.set_params(n_estimators=6).fit(data)
    np.testing.assert_array_equal(grown.predict(data), whole.predict(data))


def test_wrong_combinations_are_refused(data):
    with pytest.raises(ModelError, match="another task"):
        igbrt(task="classification", forest=forest().fit(data)).fit(data)
    with pytest.raises(ModelError, match="starts from its forest"):
        igbrt().fit(data, init_model=forest().fit(data))
    with pytest.raises(DataError, match="one problem per grade"):
        GBRT(task="classification").fit(data.X, np.arange(data.n_rows), qid=data.qid)
    with pytest.raises(ValueError, match="forest of IGBRT must be None or a RandomForest"):
        igbrt(forest="rf").fit(data)
    with pytest.raises(ValueError, match="leaf_score"):
        forest(task="classification", leaf_score="power").fit(data)


def test_early_stopping_cuts_the_boosting_not_the_forest(data):
    valid = make_ranking(30, docs_per_query=15, n_features=8, seed=2)
    ranker = igbrt(n_estimators=60, learning_rate=0.5).fit(
        data, eval_set=valid, early_stopping_rounds=5
    )
    assert ranker.model_.n_steps == ranker.best_iteration_ < 60
    assert ranker.model_.n_init_trees == 5


def test_a_forest_that_is_not_fitted_is_fitted_as_it_says(data):
    """Its seed, its fill of missing values and its checks are its own, not those of the booster."""
    start = forest(missing="zero", random_state=7)
    grown = igbrt(forest=start, n_estimators=1, learning_rate=1e-12).fit(data)
    np.testing.assert_allclose(grown.predict(data), start.fit(data).predict(data), atol=1e-9)
    holes = np.where(np.arange(data.X.size).reshape(data.X.shape) % 3 == 0, np.nan, data.X)
    np.testing.assert_allclose(grown.predict(holes), start.predict(holes), atol=1e-9)
    with pytest.raises(ValueError, match="n_estimators of RandomForest must be"):
        igbrt(forest=forest(n_estimators=0)).fit(data)


def test_a_fitted_forest_must_have_read_text_alike(data):
    def read(absent):
        return rankgrove.Dataset(data.X, data.y, data.qid, absent=absent)

    start = forest().fit(read("zero"))
    with pytest.raises(ModelError, match="the forest was trained on text whose absent features"):
        igbrt(forest=start).fit(read("missing"))


def test_out_of_bag_predictions_belong_to_their_documents(data):
    """Labels alone do not tell documents apart; the order of named columns does not matter."""
    start = forest(oob_score=True).fit(data)
    igbrt(forest=start, residuals="oob").fit(data)
    order = np.lexsort((np.random.default_rng(0).random(data.n_rows), data.y, data.qid))
    first = np.lexsort((np.arange(data.n_rows), data.y, data.qid))
    X = data.X.copy()
    X[first] = data.X[order]
    other = rankgrove.Dataset(X, data.y, data.qid, feature_names=data.feature_names)
    with pytest.raises(ModelError, match="fitted to these documents"):
        igbrt(forest=start, residuals="oob").fit(other)
    turned = rankgrove.Dataset(
        data.X[:, ::-1], data.y, data.qid, feature_names=data.feature_names[::-1]
    )
    ranker = igbrt(forest=start, residuals="oob").fit(turned)
    same = igbrt(forest=start, residuals="oob").fit(data)
    np.testing.assert_allclose(ranker.predict(data), same.predict(data), rtol=1e-6)


def test_out_of_bag_predictions_of_sparse_documents(data, monkeypatch):
    monkeypatch.setattr("rankgrove.forests.out_of_bag._BLOCK", 100)
    sparse = pytest.importorskip("scipy.sparse")
    X = np.where(np.median(data.X, axis=0) < data.X, data.X, 0)
    start = forest(oob_score=True).fit(X, data.y, qid=data.qid)
    dense = igbrt(forest=start, residuals="oob").fit(X, data.y, qid=data.qid)
    by_csr = igbrt(forest=start, residuals="oob").fit(sparse.csr_matrix(X), data.y, qid=data.qid)
    np.testing.assert_array_equal(by_csr.predict(X), dense.predict(X))


@pytest.mark.parametrize("shift", [-2, 60])
def test_out_of_bag_residuals_need_no_grades(data, shift):
    params = {"residuals": "oob", "n_forest_trees": 50}
    shifted = igbrt(**params).fit(data.X, data.y + shift, qid=data.qid).predict(data.X)
    same = igbrt(**params).fit(data.X, data.y, qid=data.qid).predict(data.X)
    assert np.corrcoef(shifted, same)[0, 1] > 0.98  # up to splits that rounding decides
    assert abs(np.mean(shifted - same) - shift) < 0.05


@pytest.mark.parametrize("constraint", [{"monotone": [1] * 8}, {"interactions": [[0, 1]]}])
def test_constraints_that_the_forest_would_break_are_refused(data, constraint):
    name = next(iter(constraint))
    with pytest.raises(ValueError, match=f"parameter {name} of IGBRT has no effect on the forest"):
        igbrt(**constraint).fit(data)
