"""Imported models predict what the library that trained them predicts, on every edge.

Rows hold values on thresholds, one float32 beside them, zeros of both signs, tiny numbers, NaN and,
where the library takes them, infinities.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import rankgrove
from formats.import_cases import assert_same, edge_rows, training_data
from rankgrove.errors import ModelError
from rankgrove.formats.foreign_trees import next_below, rounded_down
from rankgrove.trees.ensemble import rounding_limit


class TestXGBoost:
    xgboost = pytest.importorskip("xgboost")

    def train(self, rounds=20, seed=0, **params):
        X, y, qid = training_data(seed)
        settings = {"objective": "rank:ndcg", "nthread": 1, "max_depth": 5, **params}
        label = np.minimum(y, 1) if "logistic" in settings["objective"] else y
        data = self.xgboost.DMatrix(X, label)
        if settings["objective"].startswith("rank"):
            data = self.xgboost.DMatrix(X, label, qid=qid)
        return self.xgboost.train(settings, data, rounds)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "params",
        [
            {},
            {"objective": "rank:pairwise", "base_score": 0.7},
            {"objective": "reg:squarederror"},
            {"objective": "binary:logistic", "base_score": 0.3},
            {"objective": "count:poisson"},
            {"booster": "dart", "rate_drop": 0.5},
            {"num_parallel_tree": 3, "subsample": 0.5},
            {"max_depth": 0, "grow_policy": "lossguide", "max_leaves": 100, "gamma": 1.0},
            {"gamma": 1e9},
            {"tree_method": "exact", "gamma": 1.0, "objective": "rank:pairwise"},
        ],
        ids=str,
    )
    def test_same_scores(self, params):
        booster = self.train(**params)
        model = rankgrove.from_xgboost(booster)
        X = edge_rows(model, infinite=False)
        assert_same(model.predict(X), booster.predict(self.xgboost.DMatrix(X)))

    def test_best_iteration_files_and_estimator(self, tmp_path):
        X, y, qid = training_data()
        estimator = self.xgboost.XGBRanker(
            n_estimators=60, early_stopping_rounds=2, n_jobs=1, learning_rate=0.9, missing=0.0
        )
        X = np.nan_to_num(X)
        V, v, _ = training_data(5)
        estimator.fit(X, y, qid=qid, eval_set=[(np.nan_to_num(V), v)], eval_qid=[qid], verbose=0)
        model = rankgrove.from_xgboost(estimator)
        assert model.model_.ensemble.n_trees == estimator.best_iteration + 1 < 60
        assert_same(model.predict(X), estimator.predict(X))
        estimator.save_model(tmp_path / "stopped.json")
        with pytest.warns(UserWarning, match=f"the best one was {estimator.best_iteration} "):
            whole = rankgrove.from_xgboost(tmp_path / "stopped.json")
        assert whole.model_.ensemble.n_trees > model.model_.ensemble.n_trees
        cut = estimator.get_booster()[: estimator.best_iteration + 1]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert rankgrove.from_xgboost(cut).model_.ensemble.n_trees == len(cut.get_dump())
        booster = self.train()
        expected = booster.predict(self.xgboost.DMatrix(X))
        for name in ("model.json", "model.ubj"):
            booster.save_model(tmp_path / name)
            assert_same(rankgrove.from_xgboost(tmp_path / name).predict(X), expected)

    def test_unsupported_models_are_named(self, tmp_path):
        X, y, _ = training_data(missing=False)
        with pytest.raises(ModelError, match="gblinear"):
            rankgrove.from_xgboost(self.train(objective="reg:squarederror", booster="gblinear"))
        with pytest.raises(ModelError, match="several classes"):
            rankgrove.from_xgboost(self.train(objective="multi:softmax", num_class=4))
        with pytest.raises(ModelError, match="missing=-999"):
            rankgrove.from_xgboost(
                self.xgboost.XGBRegressor(n_estimators=1, missing=-999, n_jobs=1).fit(X, y)
            )
        path = tmp_path / "broken.json"
        texts = ["", "{", '{"learner": 3}', '{"learner": {"learner_model_param": {}}}']
        texts.append('{"learner": {"learner_model_param": []}}')
        for text in texts:
            path.write_text(text)
            with pytest.raises(ModelError, match=r"broken\.json"):
                rankgrove.from_xgboost(path)

    @pytest.mark.parametrize("n_features", ["1" + "0" * 30, str(2**63), "-5"])
    def test_numbers_of_features_that_cannot_be_are_refused(self, tmp_path, n_features):
        model = json.loads(self.train(rounds=1).save_raw("json"))
        model["learner"]["learner_model_param"]["num_feature"] = n_features
        (tmp_path / "broken.json").write_text(json.dumps(model))
        with pytest.raises(ModelError, match=r"broken\.json"):
            rankgrove.from_xgboost(tmp_path / "broken.json")

    def test_broken_children_are_refused(self, tmp_path):
        model = json.loads(self.train(rounds=1).save_raw("json"))
        tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
        path = tmp_path / "broken.json"
        for key, value in [("left_children", 0), ("left_children", 2), ("split_indices", 77)]:
            old, tree[key][0] = tree[key][0], value
            path.write_text(json.dumps(model))
            with pytest.raises(ModelError, match=r"broken\.json"):
                rankgrove.from_xgboost(path)
            tree[key][0] = old


class TestCatBoost:
    catboost = pytest.importorskip("catboost")

    def train(self, **params):
        X, y, qid = training_data()
        settings = {"iterations": 20, "depth": 4, "loss_function": "QueryRMSE", "verbose": 0}
        settings |= {"allow_writing_files": False, "thread_count": 1, **params}
        X[:, 3] = np.nan_to_num(X[:, 3])
        model = self.catboost.CatBoost(settings)
        return model.fit(self.catboost.Pool(X, y, group_id=qid))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "params",
        [
            {},
            {"nan_mode": "Max"},
            {"depth": 1},
            {"depth": 9, "iterations": 5},
            {"loss_function": "YetiRank"},
            {"loss_function": "RMSE", "boost_from_average": True},
        ],
        ids=str,
    )
    def test_same_scores(self, params):
        theirs = self.train(**params)
        model = rankgrove.from_catboost(theirs)
        X = edge_rows(model)
        assert_same(model.predict(X), theirs.predict(X, thread_count=1), 1e-12)

    def test_files_and_scale(self, tmp_path):
        theirs = self.train()
        theirs.set_scale_and_bias(2.5, -1.0)
        X = edge_rows(rankgrove.from_catboost(theirs))
        for name, kind in (("m.json", "json"), ("m.cbm", "cbm")):
            theirs.save_model(str(tmp_path / name), format=kind)
            model = rankgrove.from_catboost(tmp_path / name)
            assert_same(model.predict(X), theirs.predict(X), 1e-12)

    def test_unsupported_models_are_named(self, tmp_path):
        with pytest.raises(ModelError, match="symmetric"):
            rankgrove.from_catboost(self.train(grow_policy="Lossguide"))
        X, y, _ = training_data(missing=False)
        frame = np.c_[X[:, 1].astype(int).astype(str), X[:, 2:].astype(object)]
        pool = self.catboost.Pool(frame, y, cat_features=[0])
        theirs = self.catboost.CatBoost(
            {"iterations": 3, "allow_writing_files": False, "verbose": 0}
        )
        with pytest.raises(ModelError, match="OnlineCtr"):
            rankgrove.from_catboost(theirs.fit(pool), pool=pool)
        with pytest.raises(ModelError, match=r"several outputs|leaf values"):
            rankgrove.from_catboost(self.train(loss_function="MultiClass"))
        path = tmp_path / "broken.json"
        texts = ["{}", "{", '{"oblivious_trees": [{}], "features_info": {}}']
        texts.append('{"oblivious_trees": [], "features_info": []}')
        for text in texts:
            path.write_text(text)
            with pytest.raises(ModelError, match=r"broken\.json"):
                rankgrove.from_catboost(path)
        path.write_bytes(b"no model")
        with pytest.raises(ModelError, match=r"broken\.json"):
            rankgrove.from_catboost(path)


class TestSklearn:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "params", "missing"),
        [
            ("DecisionTreeRegressor", {}, True),
            ("ExtraTreeRegressor", {"max_leaf_nodes": 20}, False),
            ("RandomForestRegressor", {"n_estimators": 12}, True),
            ("ExtraTreesRegressor", {"n_estimators": 12}, False),
            ("GradientBoostingRegressor", {"n_estimators": 20}, False),
            ("GradientBoostingRegressor", {"n_estimators": 9, "init": "zero"}, False),
            ("HistGradientBoostingRegressor", {"max_iter": 20}, True),
            ("HistGradientBoostingRegressor", {"max_iter": 20}, False),
        ],
    )
    def test_same_scores(self, name, params, missing):
        import sklearn.ensemble
        import sklearn.tree

        X, y, _ = training_data(missing=missing)
        module = sklearn.tree if hasattr(sklearn.tree, name) else sklearn.ensemble
        theirs = getattr(module, name)(random_state=0, **params).fit(X, y)
        model = rankgrove.from_sklearn(theirs)
        rows = edge_rows(model, missing=missing, infinite=name.startswith("Hist"))
        assert_same(model.predict(rows), theirs.predict(rows), 1e-12)

    def test_categories_that_no_tree_asks_for_do_not_shift_columns(self):
        from sklearn.ensemble import HistGradientBoostingRegressor

        X, y, _ = training_data(missing=False)
        X[:, 4] = 1.0  # a single category: nothing to split
        theirs = HistGradientBoostingRegressor(categorical_features=[4], max_iter=10).fit(X, y)
        model = rankgrove.from_sklearn(theirs)
        rows = edge_rows(model, missing=False)
        rows[:, 4] = 1.0
        assert_same(model.predict(rows), theirs.predict(rows), 1e-12)

    def test_float64_is_compared_in_float64_where_scikit_learn_does(self):
        from sklearn.ensemble import HistGradientBoostingRegressor

        rng = np.random.default_rng(0)
        X = 1.7e9 + rng.uniform(0, 1000, (500, 2))
        theirs = HistGradientBoostingRegressor(max_iter=10).fit(X, X[:, 0] - 1.7e9)
        assert_same(rankgrove.from_sklearn(theirs).predict(X), theirs.predict(X), 1e-12)

    def test_unsupported_models_are_named(self):
        from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
        from sklearn.exceptions import NotFittedError
        from sklearn.linear_model import LinearRegression

        X, y, _ = training_data(missing=False)
        with pytest.raises(ModelError, match="not RandomForestClassifier"):
            rankgrove.from_sklearn(RandomForestClassifier(2).fit(X, y))
        with pytest.raises(ModelError, match="init=LinearRegression"):
            rankgrove.from_sklearn(GradientBoostingRegressor(init=LinearRegression()).fit(X, y))
        with pytest.raises(NotFittedError):
            rankgrove.from_sklearn(GradientBoostingRegressor())


def test_float64_thresholds_are_rounded_so_that_every_float32_agrees():
    rng = np.random.default_rng(0)
    t = np.r_[rng.normal(size=1000), 1e-40, -1e-40, 1e300, 0.0, -0.0, 3.5]
    rounded = rounded_down(t)
    with np.errstate(over="ignore"):
        next_up = np.nextafter(rounded, np.float32(np.inf))
    for x in (rounded, next_up):
        np.testing.assert_array_equal(x.astype(np.float64) <= t, x <= rounded)
    c = rounded[:-6]
    for x in (c, next_below(c)):
        np.testing.assert_array_equal(x < c, x <= next_below(c))


def test_the_rounding_limit_is_where_rounding_to_float32_turns():
    rng = np.random.default_rng(1)
    largest = np.finfo(np.float32).max
    t = np.r_[rng.normal(size=1000), 0.0, 1e-45, -1e-45, largest, -largest, 1.5].astype(np.float32)
    limit = rounding_limit(t)
    with np.errstate(over="ignore"):
        assert (limit.astype(np.float32) <= t).all()
        assert (np.nextafter(limit, np.inf).astype(np.float32) > t).all()


def test_an_imported_model_cannot_be_fitted():
    from sklearn.tree import DecisionTreeRegressor

    X, y, qid = training_data()
    model = rankgrove.from_sklearn(DecisionTreeRegressor(max_depth=2).fit(X, y))
    with pytest.raises(ModelError, match="trained by scikit-learn"):
        model.fit(X, y, qid=qid)


def test_contributions_of_a_forest_weigh_rows_as_often_as_they_were_drawn():
    import shap
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    forest = RandomForestRegressor(5, random_state=0).fit(X, X[:, 0] * X[:, 1])
    expected = shap.TreeExplainer(forest).shap_values(X)
    found = rankgrove.from_sklearn(forest).explain(X).values
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
