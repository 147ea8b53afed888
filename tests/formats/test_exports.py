"""Exported models score as the model does, for the programs that read them.

Rows hold values on thresholds, their float32 neighbours, float64 values between two neighbours, and
NaN. LightGBM, XGBoost, onnxruntime, treelite and a C compiler are the real ones; the search engines
and RankLib are played by ``oracles.export_targets``.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankgrove
from formats.export_cases import (
    MODELS,
    N_FEATURES,
    NAMES,
    QUERIES,
    assert_close,
    data,
    edge_rows,
    exported,
    model_of,
    xgboost_model,
)
from oracles import export_targets
from rankgrove.datasets import make_ranking
from rankgrove.errors import ModelError
from rankgrove.formats.export_check import check_export
from rankgrove.formats.exporting import TARGETS, target_of
from rankgrove.formats.foreign_trees import ForeignTree, to_ensemble
from rankgrove.formats.plain_trees import plain_trees
from rankgrove.formats.solr import before_slack
from rankgrove.rankers.base.imported import ImportedRanker

pytestmark = pytest.mark.filterwarnings("ignore:every document gets the same score")


def in_gaps_of_solr(ranker, X):
    """Which rows have a value between a threshold and the one that Solr has instead."""
    ensemble = ranker.model_.ensemble
    found = np.zeros(len(X), bool)
    for node in np.flatnonzero(ensemble.feature >= 0):
        t = ensemble.threshold[node : node + 1]
        x = np.nan_to_num(X[:, ensemble.feature[node]])
        found |= (x > t) & (x <= before_slack(t) + np.float32(1e-6))
    return found


def by_oracle(to: str, text: str, X):
    if to in ("elasticsearch", "opensearch"):
        return [
            export_targets.elasticsearch(text, row, NAMES, unmatched_is_zero=to != "opensearch")
            for row in X
        ]
    if to == "ranklib":
        return [export_targets.ranklib(text, row) for row in X]
    return [
        {"solr": export_targets.solr, "vespa": export_targets.vespa}[to](text, row, NAMES)
        for row in X
    ]


def test_pmml_gives_the_same_scores(tmp_path):
    """By its own rules; JPMML itself is asked in test_consumers."""
    for name in MODELS:
        ranker = model_of(name)
        export = exported(ranker, "pmml", tmp_path / "m.pmml")
        X = edge_rows(ranker, wide=True)
        scores = target_of("pmml").evaluate(export.path.read_bytes(), X, NAMES)
        np.testing.assert_array_equal(scores, ranker.predict(X))
    names = ["score", *NAMES[1:]]
    with pytest.raises(ModelError, match="does not take 'score'"):
        model_of("boosted").export(tmp_path / "m.pmml", "pmml", feature_names=names)


ENGINES = ("elasticsearch", "opensearch", "solr", "vespa", "ranklib")
LIBRARIES = ("lightgbm", "xgboost", "onnx", "onnx-double", "c")


@pytest.mark.process
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("to", LIBRARIES)
def test_libraries_give_the_same_scores(name, to, tmp_path):
    ranker = model_of(name)
    export = exported(ranker, to, tmp_path / "model.json")
    for wide in (False, True):
        X = edge_rows(ranker, wide=wide)
        asked = target_of(to).library(export.path, X)
        if asked is None:
            pytest.skip(f"no library for {to}")
        # Trees that were trained on float64 see float32 where the target has nothing else.
        seen = X if to in ("lightgbm", "onnx-double") else X.astype(np.float32)
        assert_close(asked[1], ranker.predict(seen), to)
        assert_close(target_of(to).evaluate(export.path.read_bytes(), X, NAMES), asked[1], to)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("to", ENGINES)
def test_search_engines_give_the_same_scores(name, to, tmp_path):
    ranker = model_of(name)
    target = target_of(to)
    missing = None
    if not target.carries_missing and name != "zero":
        missing = "zero"
    export = exported(ranker, to, tmp_path / "model.json", missing=missing)
    X = edge_rows(ranker, n_rows=60, wide=to == "vespa")
    expected = ranker.predict(np.nan_to_num(X) if export.missing == "zero" else X)
    text = export.path.read_text()
    right = np.ones(len(X), bool)
    if to == "solr":  # what it warned of
        right = ~in_gaps_of_solr(ranker, X)
        assert right.mean() > 0.3
    found = np.array(by_oracle(to, text, X))
    assert not target.at_least_zero or found.min() >= 0
    assert_close(found[right] - export.shift, expected[right], to)
    assert_close(target.evaluate(text.encode(), X, NAMES), found, to)


@pytest.mark.parametrize("name", ["boosted", "forest", "fill", "xgboost"])
def test_treelite_reads_lightgbm_and_xgboost_files(name, tmp_path):
    treelite = pytest.importorskip("treelite")
    ranker = model_of(name)
    X = edge_rows(ranker)
    path = exported(ranker, "lightgbm", tmp_path / "m.txt").path
    model = treelite.frontend.load_lightgbm_model(path)
    found = treelite.gtil.predict(model, X.astype(np.float64))
    np.testing.assert_allclose(np.ravel(found), ranker.predict(X), rtol=1e-12, atol=1e-12)
    path = exported(ranker, "xgboost", tmp_path / "m.json").path
    model = treelite.frontend.load_xgboost_model(path, format_choice="json")
    assert_close(np.ravel(treelite.gtil.predict(model, X)), ranker.predict(X), "xgboost")


def test_xgboost_knows_features_by_any_letters(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    names = ("日本", "é ü", "🌳", 'q"uote', "back\\slash", "c:d", "e,f", "g=h")
    ranker = model_of("boosted")
    ranker.export(tmp_path / "m.json", "xgboost", feature_names=names)
    booster = xgboost.Booster(model_file=tmp_path / "m.json")
    assert tuple(booster.feature_names) == names
    X = data()[0]
    matrix = xgboost.DMatrix(X, feature_names=list(names))
    assert_close(booster.predict(matrix), ranker.predict(X), "xgboost")
    assert tuple(rankgrove.from_xgboost(tmp_path / "m.json").feature_names_in_) == names


@pytest.mark.parametrize("name", ["boosted", "oblivious"])
def test_xgboost_explains_what_it_reads(name, tmp_path):
    """Oblivious trees have leaves that no document reached, by which nothing may be divided."""
    xgboost = pytest.importorskip("xgboost")
    ranker = model_of(name)
    booster = xgboost.Booster(model_file=str(exported(ranker, "xgboost", tmp_path / "m.json").path))
    X = edge_rows(ranker)
    parts = booster.predict(
        xgboost.DMatrix(X, feature_names=booster.feature_names), pred_contribs=True
    )
    np.testing.assert_allclose(parts.sum(axis=1), ranker.predict(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["boosted", "oblivious"])
def test_lightgbm_explains_what_it_reads(name, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    ranker = model_of(name)
    path = exported(ranker, "lightgbm", tmp_path / "m.txt").path
    X = edge_rows(ranker)
    parts = lightgbm.Booster(model_file=str(path)).predict(X, pred_contrib=True)
    np.testing.assert_allclose(parts.sum(axis=1), ranker.predict(X), atol=1e-12)


class TestThereAndBack:
    """A model of another library goes in and comes out with identical scores."""

    @pytest.mark.parametrize("zero_as_missing", [False, True])
    def test_lightgbm(self, zero_as_missing, tmp_path):
        lightgbm = pytest.importorskip("lightgbm")
        X, y, qid = data()
        X = np.where(np.abs(X) < 0.3, 0, X).astype(np.float64)
        X[:, 4] = 1.7e9 + np.arange(len(X)) * 3
        params = {"objective": "lambdarank", "verbose": -1, "num_threads": 1}
        params |= {"zero_as_missing": zero_as_missing}
        booster = lightgbm.train(params, lightgbm.Dataset(X, y, group=np.bincount(qid)), 10)
        rankgrove.from_lightgbm(booster).export(tmp_path / "m.txt", "lightgbm")
        again = lightgbm.Booster(model_file=str(tmp_path / "m.txt"))
        np.testing.assert_array_equal(again.predict(X), booster.predict(X))
        back = rankgrove.from_lightgbm(tmp_path / "m.txt")
        np.testing.assert_array_equal(back.predict(X), booster.predict(X))

    @pytest.mark.parametrize("objective", ["rank:ndcg", "binary:logistic", "count:poisson"])
    def test_xgboost(self, objective, tmp_path):
        xgboost = pytest.importorskip("xgboost")
        X, y, _ = data()
        matrix = xgboost.DMatrix(X, np.minimum(y, 1))
        if objective.startswith("rank"):
            matrix.set_info(qid=data()[2])
        params = {"objective": objective, "base_score": 0.3, "nthread": 1}
        booster = xgboost.train(params, matrix, 10)
        rankgrove.from_xgboost(booster).export(tmp_path / "m.json", "xgboost")
        again = xgboost.Booster(model_file=tmp_path / "m.json")
        np.testing.assert_array_equal(again.predict(matrix), booster.predict(matrix))

    def test_a_model_without_trees(self, tmp_path):
        xgboost = pytest.importorskip("xgboost")
        pytest.importorskip("onnx")
        X, y, _ = data()
        booster = xgboost.train({"base_score": 0.25, "nthread": 1}, xgboost.DMatrix(X, y), 0)
        ranker = rankgrove.from_xgboost(booster)
        for to in TARGETS:
            export = exported(ranker, to, tmp_path / "m")
            scores = target_of(to).evaluate(export.path.read_bytes(), X, NAMES)
            np.testing.assert_array_equal(scores, 0.25)


class TestLinks:
    @pytest.mark.process
    @pytest.mark.parametrize("to", [*LIBRARIES, "vespa", "opensearch"])
    def test_probabilities_are_carried(self, to, tmp_path):
        ranker = xgboost_model("binary:logistic")
        export = exported(ranker, to, tmp_path / "m.json")
        X = edge_rows(ranker)
        for agreement in check_export(ranker.model_, export, X, QUERIES(len(X))):
            assert agreement.largest_difference < 1e-6

    def test_or_refused(self, tmp_path):
        for to in ("solr", "ranklib"):
            with pytest.raises(ModelError, match=f"{to} has no place for the sigmoid"):
                exported(xgboost_model("binary:logistic"), to, tmp_path / "m", missing="zero")


class TestDetails:
    def test_solr_thresholds_come_back_after_the_slack(self):
        rng = np.random.default_rng(2)
        t = (10.0 ** rng.uniform(-5, 30, 20_000)).astype(np.float32)
        np.testing.assert_array_equal(before_slack(t) + np.float32(1e-6), t)
        for tricky in (-t, t / 10, np.array([1e-35, 1e-20, 3e-8, 0.0, -1e-20, -2e-6], np.float32)):
            found = before_slack(tricky) + np.float32(1e-6)
            assert (found >= tricky).all()
            np.testing.assert_allclose(found, tricky, rtol=3e-7, atol=1.2e-13)
        assert np.isposinf(before_slack(np.array([np.inf], np.float32))).all()

    def test_solr_warns_of_thresholds_that_it_cannot_hold(self, tmp_path):
        lightgbm = pytest.importorskip("lightgbm")
        X, y, _ = data(missing=False)
        X = np.where(X < 0.5, 0, X)
        params = {"verbose": -1, "num_threads": 1}
        ranker = rankgrove.from_lightgbm(lightgbm.train(params, lightgbm.Dataset(X, y), 3))
        with pytest.warns(UserWarning, match="cannot be written for Solr"):
            ranker.export(tmp_path / "m", "solr", feature_names=NAMES)

    def test_the_base_score_is_added_first(self):
        plain = plain_trees(model_of("base score").model_)
        folded = plain.with_base_in_leaves()
        assert plain.base_score > 50
        assert folded.base_score == 0
        leaf = plain.trees[0].is_leaf
        np.testing.assert_array_equal(
            folded.trees[0].value[leaf], plain.base_score + plain.trees[0].value[leaf]
        )

    @pytest.mark.process
    def test_deep_trees_are_refused_where_files_nest(self, tmp_path):
        n = 420
        inner, leaf = np.arange(n) < n - 1, np.arange(n) == n - 1
        number = np.arange(n)
        # Node i sends x <= i to the leaf n + i, all others on to node i + 1.
        chain = ForeignTree(
            feature=np.r_[np.where(inner, 0, -1), np.full(n - 1, -1)],
            threshold=np.r_[number, np.zeros(n - 1)].astype(np.float32),
            left=np.r_[np.where(inner, n + number, -1), np.full(n - 1, -1)],
            right=np.r_[np.where(inner, number + 1, -1), np.full(n - 1, -1)],
            missing_left=np.zeros(2 * n - 1, bool),
            value=np.r_[np.where(leaf, n, 0), np.arange(n - 1)].astype(np.float64),
            count=np.ones(2 * n - 1),
            gain=np.zeros(2 * n - 1),
        )
        x = np.arange(n, dtype=np.float32)[:, None] * np.ones((1, N_FEATURES), np.float32)
        ranker = ImportedRanker.from_ensemble(to_ensemble([chain], N_FEATURES), "a test")
        for to in ("vespa", "solr", "opensearch"):
            with pytest.raises(ModelError, match="levels"):
                ranker.export(tmp_path / "m", to, feature_names=NAMES)
        for to in ("ranklib", "c", "lightgbm"):
            export = ranker.export(tmp_path / "m", to, missing="zero")
            (agreement, *_) = check_export(ranker.model_, export, x, QUERIES(len(x)))
            assert agreement.largest_difference == 0

    def test_the_check_notices_a_wrong_file(self, tmp_path):
        ranker = model_of("boosted")
        export = exported(ranker, "lightgbm", tmp_path / "m.txt")
        text = export.path.read_text()
        first = text.split("leaf_value=")[1].split(" ")[0]
        export.path.write_text(text.replace(f"leaf_value={first}", "leaf_value=9", 1))
        X = data()[0]
        for agreement in check_export(ranker.model_, export, X, QUERIES(len(X))):
            assert agreement.largest_difference > 1
            assert agreement.changed_ranks > 0

    def test_names_travel_with_the_model(self, tmp_path):
        train = make_ranking(20, seed=3)
        ranker = rankgrove.MART(n_estimators=3, random_state=0).fit(train)
        text = ranker.export(tmp_path / "m.json", "vespa").path.read_text()
        assert json.loads(text)["feature_names"] == list(train.feature_names)
