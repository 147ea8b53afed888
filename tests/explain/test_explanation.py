"""Explanations of documents, pairs of documents and lists, at every door and for every kind."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import rankgrove
from rankgrove.data.core.columns import Columns
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, ModelError
from rankgrove.explain import explain, interactions
from rankgrove.models.linear import LinearModel
from rankgrove.models.sums import SumModel, add_up

NAMES = tuple(f"name {j}" for j in range(8))


def make_data(n_queries: int = 20, seed: int = 0) -> rankgrove.Dataset:
    data = make_ranking(n_queries, n_features=8, seed=seed)
    X = data.X.copy()
    X[::7, 2] = np.nan
    return rankgrove.Dataset(
        X,
        data.y,
        data.qid,
        feature_names=NAMES,
        doc_ids=[f"doc{i}" for i in range(len(X))],
    )


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def ranker(data):
    return rankgrove.LambdaMART(n_estimators=15, max_leaf_nodes=8, random_state=0).fit(data)


def linear(normalisation: str = "none", seed: int = 0) -> LinearModel:
    rng = np.random.default_rng(seed)
    return LinearModel(
        columns=Columns(NAMES, 8),
        weights=np.where(np.arange(8) == 3, 0.0, rng.normal(size=8)),
        fill=np.full(8, 0.25, np.float32),
        normalisation=normalisation,
    )


@pytest.mark.parametrize("name", ["LambdaMART", "RFPoint", "RCRank", "RFList"])
def test_contributions_add_up_to_the_prediction(name, data):
    options = {"n_estimators": 5, "random_state": 0}
    fitted = getattr(rankgrove, name)(**options).fit(data)
    explanation = fitted.explain(data)
    assert explanation.features == NAMES
    assert explanation.scale == "score"
    np.testing.assert_allclose(explanation.scores, fitted.predict(data), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        interactions(fitted, data).sum(axis=2), explanation.values, rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("missing", ["zero", "mean", "inf"])
def test_fill_of_the_model_is_obeyed(missing, data):
    fitted = rankgrove.MART(n_estimators=5, missing=missing).fit(data)
    np.testing.assert_allclose(fitted.explain(data).scores, fitted.predict(data), atol=1e-10)


@pytest.mark.parametrize("normalisation", ["none", "query-minmax", "query-zscore"])
def test_linear_models_add_up(normalisation, data):
    model = linear(normalisation)
    explanation = explain(model, data)
    np.testing.assert_allclose(explanation.scores, model.scores(data.X, data.groups), atol=1e-9)
    np.testing.assert_array_equal(explanation.values[:, 3], 0.0)
    pairs = interactions(model, data)
    np.testing.assert_allclose(pairs.sum(axis=2), explanation.values, atol=1e-12)
    assert np.count_nonzero(pairs[0] - np.diag(np.diag(pairs[0]))) == 0


def test_sums_add_up(ranker, data):
    model = add_up([linear(), ranker.model_], [0.5, 2.0], Columns(NAMES, 8))
    assert isinstance(model, SumModel)
    explanation = explain(model, data)
    np.testing.assert_allclose(explanation.scores, model.scores(data.X, data.groups), atol=1e-9)
    np.testing.assert_allclose(interactions(model, data).sum(axis=2), explanation.values, atol=1e-9)


def test_a_link_is_explained_before_it_is_applied(data):
    import lightgbm

    booster = lightgbm.train(
        {"objective": "binary", "verbose": -1, "min_data_in_leaf": 5},
        lightgbm.Dataset(data.X, data.y > 0),
        5,
    )
    explanation = rankgrove.from_lightgbm(booster).explain(data.X)
    assert explanation.scale == "log-odds"
    np.testing.assert_allclose(
        explanation.scores, booster.predict(data.X, raw_score=True), atol=1e-10
    )


@pytest.mark.parametrize("name", ["McRank", "RFPair"])
def test_what_does_not_add_up_is_refused_by_name(name, data):
    fitted = getattr(rankgrove, name)(n_estimators=2, random_state=0).fit(data)
    with pytest.raises(ModelError, match=r"a model of the kind '(trees|pairs)' cannot tell what"):
        fitted.explain(data)


def test_columns_are_matched_by_name(ranker, data):
    frame = pd.DataFrame(data.X, columns=NAMES)
    shuffled = frame[list(NAMES[::-1])].assign(other="text")
    expected = ranker.explain(data)
    found = ranker.explain(shuffled)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.data, expected.data)
    with pytest.raises(DataError, match="name 3"):
        ranker.explain(frame.drop(columns="name 3"))
    with pytest.raises(DataError, match="7 features"):
        ranker.explain(data.X[:, :7])


def test_differences_add_up_to_the_distance_of_two_documents(ranker, data):
    explanation = ranker.explain(data)
    comparison = explanation.compare(3, 0)
    effects = [difference.effect for difference in comparison.differences]
    assert sum(effects) == pytest.approx(comparison.first_score - comparison.second_score)
    assert np.all(np.diff(np.abs(effects)) <= 0)
    assert (comparison.first, comparison.second) == ("doc3", "doc0")
    for difference in comparison.differences:
        j = NAMES.index(difference.feature)
        np.testing.assert_equal(difference.first, float(data.X[3, j]))
        np.testing.assert_equal(difference.second, float(data.X[0, j]))
    assert np.isnan(next(d.second for d in comparison.differences if d.feature == "name 2"))
    lines = str(comparison).splitlines()
    assert lines[0] == comparison.title
    assert len(lines) == 1 + len(comparison.differences)
    largest = comparison.differences[0]
    assert lines[1].startswith(f"  {largest.feature}: ")
    assert lines[1].endswith(f", {largest.effect:+.4f}")
    assert "against missing, " in next(line for line in lines if "name 2: " in line)


def test_effects_of_a_list_add_up_to_the_lead_of_its_top(ranker, data):
    query = data.groups.ids[4]
    rows = np.flatnonzero(data.qid == query)
    found = ranker.explain(data).query(query, top=2)
    scores = np.sort(ranker.predict(data)[rows])[::-1]
    np.testing.assert_allclose([d.score for d in found.documents], scores, atol=1e-10)
    assert {d.row for d in found.documents} == set(rows)
    lead = scores[:2].mean() - scores.mean()
    assert sum(effect.effect for effect in found.effects) == pytest.approx(lead)
    assert len(found.to_dict()["documents"]) == len(rows)


def test_documents_are_found_by_id_rank_and_number(ranker, data):
    query = str(data.groups.ids[1])
    explanation = ranker.explain(data)
    rows = np.flatnonzero(data.qid.astype(str) == query)
    assert explanation.row_of(f"doc{rows[2]}", query) == rows[2]
    assert explanation.row_of("@1", query) == rows[np.argmax(ranker.predict(data)[rows])]
    nameless = ranker.explain(data.X, data.qid)
    assert nameless.row_of("2", query) == rows[1]
    assert nameless.row_of(2, query) == rows[1]
    assert nameless.name_of(int(rows[1])) == "2"
    effects = explanation.document(int(rows[0]))
    assert sum(effect.effect for effect in effects) + explanation.expected == pytest.approx(
        ranker.predict(data)[rows[0]]
    )


def test_what_is_not_there_is_refused(ranker, data):
    explanation = ranker.explain(data)
    query = data.groups.ids[1]
    with pytest.raises(DataError, match="no query 'nobody' among 20"):
        explanation.query("nobody")
    with pytest.raises(DataError, match="no document 'doc999999' of query"):
        explanation.row_of("doc999999", query)
    with pytest.raises(DataError, match="rank of query"):
        explanation.row_of("@0", query)
    with pytest.raises(DataError, match="20 queries"):
        explanation.query()
    with pytest.raises(DataError, match="no row 100000"):
        explanation.compare(100000, 0)
    with pytest.raises(ValueError, match="top must be at least 1"):
        explanation.query(query, top=0)
    with pytest.raises(DataError, match="no query ids"):
        ranker.explain(data.X).query("1")
    with pytest.raises(ModelError, match="neither a ranker nor a model"):
        explain("model.rg", data)


def test_two_documents_with_one_id_are_not_confused(ranker, data):
    twice = rankgrove.Dataset(
        data.X, data.y, data.qid, feature_names=NAMES, doc_ids=["same"] * data.n_rows
    )
    with pytest.raises(DataError, match=r"documents of query .* have the id 'same'"):
        ranker.explain(twice).row_of("same", data.groups.ids[0])


def test_no_documents_give_an_empty_explanation(ranker):
    explanation = ranker.explain(np.empty((0, 8)))
    assert explanation.values.shape == (0, 8)
    np.testing.assert_array_equal(explanation.importances(), np.zeros(8))


def test_an_unfitted_ranker_says_so(data):
    with pytest.raises(Exception, match="not fitted"):
        rankgrove.MART().explain(data)


def imported(library: str, data):
    """Return an imported model, and scores by the library itself."""
    X, y = data.X, data.y
    if library == "xgboost":
        import xgboost

        pairs = xgboost.DMatrix(X, y, qid=data.groups.query_of_row())
        booster = xgboost.train({"objective": "rank:ndcg", "max_depth": 4}, pairs, 6)
        return rankgrove.from_xgboost(booster), booster.predict(pairs)
    if library == "catboost":
        pytest.importorskip("catboost")
        from catboost import CatBoost, Pool

        pool = Pool(X, y, group_id=data.groups.query_of_row())
        model = CatBoost(
            {
                "loss_function": "QueryRMSE",
                "depth": 4,
                "iterations": 6,
                "verbose": 0,
                "allow_writing_files": False,
            }
        ).fit(pool)
        return rankgrove.from_catboost(model), model.predict(pool)
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(6, random_state=0).fit(X, y)
    return rankgrove.from_sklearn(forest), forest.predict(X)


@pytest.mark.parametrize("library", ["xgboost", "catboost", "scikit-learn"])
def test_contributions_of_imported_models_add_up(library, data):
    ranker, scores = imported(library, data)
    np.testing.assert_allclose(ranker.explain(data.X).scores, scores, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        ranker.explain(data.X).scores, ranker.predict(data.X), rtol=1e-10, atol=1e-10
    )


def test_contributions_of_an_imported_model_are_those_of_xgboost(data, tmp_path):
    import xgboost

    pairs = xgboost.DMatrix(data.X, data.y, qid=data.groups.query_of_row())
    booster = xgboost.train({"objective": "rank:ndcg", "max_depth": 4}, pairs, 6)
    rankgrove.from_xgboost(booster).save(tmp_path / "m.rg")
    ranker = rankgrove.load_model(tmp_path / "m.rg")
    ranker.export(tmp_path / "m.json", "xgboost")
    for one in (ranker, rankgrove.from_xgboost(tmp_path / "m.json")):
        explained = one.explain(data.X)
        parts = booster.predict(pairs, pred_contribs=True)
        np.testing.assert_allclose(explained.values, parts[:, :-1], atol=2e-6)
        np.testing.assert_allclose(explained.expected, parts[0, -1], atol=2e-6)


def test_shap_takes_a_model_with_a_fill(data):
    shap = pytest.importorskip("shap")

    from rankgrove.explain import shap_trees

    fitted = rankgrove.RFPoint(n_estimators=4, missing="mean", random_state=0).fit(data)
    explainer = shap.TreeExplainer(shap_trees(fitted))
    expected = fitted.explain(data)
    np.testing.assert_allclose(explainer.shap_values(data.X), expected.values, atol=1e-9)
    np.testing.assert_allclose(explainer.expected_value, expected.expected, atol=1e-9)


def test_shap_is_refused_what_it_does_not_know(data):
    from rankgrove.explain import shap_trees

    with pytest.raises(ModelError, match="kind 'linear' cannot be handed to shap"):
        shap_trees(linear())


@pytest.mark.parametrize("kind", ["gain", "split"])
def test_importances_have_the_names_of_their_columns(data, ranker, kind, monkeypatch):
    series = ranker.named_importances(kind)
    assert isinstance(series, pd.Series)
    np.testing.assert_array_equal(series[list(NAMES)], ranker.importances(kind))
    assert series.is_monotonic_decreasing
    monkeypatch.setitem(sys.modules, "pandas", None)  # importing it fails
    assert ranker.named_importances(kind) == series.to_dict()


def test_importances_of_columns_without_names_are_numbered(data):
    ranker = rankgrove.MART(n_estimators=3, random_state=0).fit(data.X, data.y, qid=data.qid)
    shuffled = ranker.named_importances("permutation", X=data.X, y=data.y, qid=data.qid)
    assert sorted(shuffled.index) == [f"f{j}" for j in range(1, 9)]


def test_the_title_of_two_documents_says_which_ranks_above():
    data = make_ranking(2, docs_per_query=8, seed=0)
    found = rankgrove.MART(n_estimators=5, random_state=0).fit(data).explain(data)
    best, worst = int(found.scores.argmax()), int(found.scores.argmin())
    assert " ranks above " in found.compare(best, worst).title
    assert " ranks below " in found.compare(worst, best).title
    assert " has the same score as " in found.compare(best, best).title


def test_a_query_of_documents_without_queries_says_how_to_give_them():
    data = make_ranking(2, docs_per_query=8, seed=0)
    found = rankgrove.MART(n_estimators=2, random_state=0).fit(data).explain(data.X)
    with pytest.raises(DataError, match=r"no query 3: explain\(X, qid=...\) takes them"):
        found.query(3)


@pytest.mark.parametrize(("n_features", "has_others"), [(4, False), (12, True)])
def test_the_picture_of_a_list_names_others_only_if_there_are_others(n_features, has_others):
    data = make_ranking(1, docs_per_query=30, n_features=n_features, seed=0)
    ranker = rankgrove.MART(n_estimators=5, min_samples_leaf=1, random_state=0).fit(data)
    picture = str(ranker.explain(data).query(top=3).plot())
    assert (">others<" in picture) == has_others
