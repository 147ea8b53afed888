"""Imported models predict what the library that trained them predicts, on every edge.

Rows hold values on thresholds, one float32 beside them, zeros of both signs, tiny numbers, NaN and,
where the library takes them, infinities.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import rankgrove
from rankgrove.errors import DataError, ModelError
from rankgrove.formats.foreign_trees import at_most, below
from rankgrove.trees.ensemble import rounding_limit

N_FEATURES = 6


def training_data(seed: int = 0, missing: bool = True, zeros: bool = False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, N_FEATURES)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1] * 2)
    X[:, 2] = np.abs(X[:, 2])
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=1200)), 0, 3)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    if zeros:
        X[rng.random(X.shape) < 0.3] = 0.0
    return X, y, np.repeat(np.arange(60), 20)


def edge_rows(model, n_rows: int = 3000, missing: bool = True, infinite: bool = True):
    """Rows of the values that the model's own splits tell apart."""
    rng = np.random.default_rng(7)
    ensemble = model.model_.ensemble
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    for feature in range(N_FEATURES):
        on = ensemble.threshold[ensemble.feature == feature]
        if len(on):
            picks = rng.choice(on, n_rows)
            with np.errstate(over="ignore"):
                up = np.nextafter(picks, np.float32(np.inf))
                down = np.nextafter(picks, np.float32(-np.inf))
            if not infinite:
                picks, up, down = (np.nan_to_num(values) for values in (picks, up, down))
            X[:, feature] = np.choose(
                rng.integers(4, size=n_rows), [picks, up, down, X[:, feature]]
            )
    edges = [0.0, -0.0, 1e-35, -1e-35, 1e-36, 1e-34, 1e-45, 3e38]
    edges += [np.inf, -np.inf] * infinite + [np.nan, np.nan] * missing
    return np.where(rng.random(X.shape) < 0.2, rng.choice(np.array(edges, np.float32), X.shape), X)


def assert_same(ours, theirs, rtol=1e-6):
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * scale)


class TestLightGBM:
    lightgbm = pytest.importorskip("lightgbm")

    def train(self, data=None, rounds=25, **params):
        X, y, qid = data or training_data()
        settings = {"objective": "lambdarank", "num_leaves": 15, "min_data_in_leaf": 5}
        settings |= {"verbose": -1, "num_threads": 1, **params}
        group = np.bincount(qid) if "rank" in settings["objective"] else None
        label = (y > 1).astype(float) if settings["objective"] == "binary" else y
        return self.lightgbm.train(settings, self.lightgbm.Dataset(X, label, group=group), rounds)

    @pytest.mark.parametrize(
        ("params", "data"),
        [
            ({}, {}),
            ({"use_missing": False}, {}),
            ({}, {"missing": False}),
            ({"zero_as_missing": True}, {"zeros": True}),
            ({"objective": "regression"}, {}),
            ({"objective": "rank_xendcg"}, {}),
            ({"objective": "binary", "sigmoid": 2.0}, {}),
            ({"objective": "poisson"}, {}),
            ({"boosting": "dart"}, {}),
            ({"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}, {}),
            ({"num_leaves": 200, "min_data_in_leaf": 1}, {}),
            ({"min_data_in_leaf": 10_000}, {}),
        ],
        ids=str,
    )
    def test_same_scores(self, params, data):
        data = training_data(1, **data)
        booster = self.train(data, **params)
        model = rankgrove.from_lightgbm(booster)
        X = edge_rows(model)
        assert_same(model.predict(X), booster.predict(X, num_threads=1), 1e-12)
        assert_same(model.predict(data[0]), booster.predict(data[0], num_threads=1), 1e-12)

    def test_best_iteration_file_and_estimator(self, tmp_path):
        X, y, qid = training_data()
        booster = self.train()
        booster.best_iteration = 7
        path = tmp_path / "model.txt"
        booster.save_model(path)
        expected = booster.predict(X, num_threads=1)
        assert rankgrove.from_lightgbm(booster).model_.ensemble.n_trees == 7
        assert_same(rankgrove.from_lightgbm(booster).predict(X), expected, 1e-12)
        assert_same(rankgrove.from_lightgbm(path).predict(X), expected, 1e-12)
        estimator = self.lightgbm.LGBMRanker(n_estimators=5, verbose=-1, n_jobs=1)
        estimator.fit(X, y, group=np.bincount(qid))
        assert_same(rankgrove.from_lightgbm(estimator).predict(X), estimator.predict(X), 1e-12)

    def test_names_survive_saving(self, tmp_path):
        X, y, _ = training_data()
        names = list("abcdef")
        data = self.lightgbm.Dataset(X, y, feature_name=names)
        booster = self.lightgbm.train({"verbose": -1, "num_threads": 1}, data, 3)
        model = rankgrove.from_lightgbm(booster)
        assert list(model.feature_names_in_) == names
        model.save(tmp_path / "m.rgm")
        loaded = rankgrove.load_model(tmp_path / "m.rgm")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

    def test_columns_with_blanks_are_found(self):
        pandas = pytest.importorskip("pandas")
        X, y, _ = training_data()
        frame = pandas.DataFrame(X, columns=["title match", "b", "c", "d e f", "g", "h"])
        data = self.lightgbm.Dataset(frame, y)
        booster = self.lightgbm.train({"verbose": -1, "num_threads": 1}, data, 3)
        model = rankgrove.from_lightgbm(booster)
        expected = booster.predict(frame, num_threads=1)
        assert_same(model.predict(frame), expected, 1e-12)
        assert_same(model.predict(frame[frame.columns[::-1]]), expected, 1e-12)
        with pytest.raises(DataError, match="title_match"):
            model.predict(frame.rename(columns={"title match": "a", "d e f": "d_e_f"}))

    @pytest.mark.parametrize("zero_as_missing", [False, True])
    def test_float64_is_compared_in_float64(self, zero_as_missing, tmp_path):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(1200, 3))
        X[:, 0] = 1.7e9 + rng.uniform(0, 5000, 1200)  # float32 knows every 128th second
        X[:, 1] = 0.1 + np.arange(1200) * 1e-12
        X[::7, 2] = np.nan
        X[::5, 1:] = 0.0
        y = (X[:, 0] - 1.7e9) / 1000 + (X[:, 1] - 0.1) * 1e9
        params = {"verbose": -1, "num_threads": 1, "zero_as_missing": zero_as_missing}
        booster = self.lightgbm.train(params, self.lightgbm.Dataset(X, y), 20)
        model = rankgrove.from_lightgbm(booster)
        expected = booster.predict(X, num_threads=1)
        assert_same(model.predict(X), expected, 1e-12)
        model.save(tmp_path / "m.rg")
        loaded = rankgrove.load_model(tmp_path / "m.rg")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        *_, last = loaded.staged_predict(X)
        assert_same(last, expected, 1e-12)
        _, best = loaded.compile().top_k(X, 10)
        np.testing.assert_array_equal(best, np.sort(model.predict(X))[::-1][:10])
        if not zero_as_missing:
            ensemble, leaves = model.model_.ensemble, model.apply(X)
            value = ensemble.value[ensemble.tree_offsets[:-1] + leaves]
            assert_same(value.sum(axis=1), expected, 1e-9)

    def test_whole_numbers_too_large_for_float32_stay_apart(self):
        pandas = pytest.importorskip("pandas")
        rng = np.random.default_rng(3)
        time = 1_700_000_000 + rng.integers(0, 2000, 600)
        frame = pandas.DataFrame({"time": time, "other": rng.normal(size=600)})
        y = (time - 1_700_000_000) / 100
        data = self.lightgbm.Dataset(frame, y)
        booster = self.lightgbm.train({"verbose": -1, "num_threads": 1}, data, 10)
        model = rankgrove.from_lightgbm(booster)
        expected = booster.predict(frame, num_threads=1)
        assert_same(model.predict(frame), expected, 1e-12)
        for data in (frame[["time"]], time[:, None]):
            alone = self.lightgbm.Dataset(data, y)
            booster = self.lightgbm.train({"verbose": -1, "num_threads": 1}, alone, 10)
            expected = booster.predict(data, num_threads=1)
            assert_same(rankgrove.from_lightgbm(booster).predict(data), expected, 1e-12)

    def test_a_model_from_text_that_counts_from_1_is_not_shifted(self, tmp_path):
        """LightGBM reads feature 1 of text as its column 1, and has an empty column 0."""
        rng = np.random.default_rng(0)
        X = rng.uniform(1, 2, (300, 5)).astype(np.float32)
        lines = [
            f"{int(row[1] > 1.5)} " + " ".join(f"{j + 1}:{v:.6f}" for j, v in enumerate(row))
            for row in X
        ]
        (tmp_path / "light.svm").write_text("\n".join(lines) + "\n")
        ranked = [line.replace(" ", f" qid:{i // 10} ", 1) for i, line in enumerate(lines)]
        (tmp_path / "ranked.txt").write_text("\n".join(ranked) + "\n")
        params = {"verbose": -1, "num_threads": 1, "objective": "regression"}
        booster = self.lightgbm.train(params, self.lightgbm.Dataset(str(tmp_path / "light.svm")), 5)
        assert booster.num_feature() == 6
        model = rankgrove.from_lightgbm(booster)
        with pytest.raises(DataError, match="first_feature=0, n_features=6"):
            model.predict(rankgrove.load(tmp_path / "ranked.txt"))
        data = rankgrove.load(tmp_path / "ranked.txt", first_feature=0, n_features=6)
        expected = booster.predict(str(tmp_path / "light.svm"))
        assert_same(model.predict(data), expected, 1e-12)

    def test_zero_as_missing_survives_saving(self, tmp_path):
        booster = self.train(training_data(zeros=True), zero_as_missing=True)
        model = rankgrove.from_lightgbm(booster)
        model.save(tmp_path / "m.rgm")
        loaded = rankgrove.load_model(tmp_path / "m.rgm")
        X = edge_rows(model)
        assert_same(loaded.predict(X), booster.predict(X, num_threads=1), 1e-12)

    def test_unsupported_models_are_named(self, tmp_path):
        X, y, _ = training_data(missing=False)
        X[:, 1] = np.abs(X[:, 1])
        data = self.lightgbm.Dataset(X, y, categorical_feature=[1])
        params = {"verbose": -1, "num_threads": 1, "min_data_per_group": 1, "cat_smooth": 0}
        booster = self.lightgbm.train(params, data, 10)
        with pytest.raises(ModelError, match="categorical split on feature 1"):
            rankgrove.from_lightgbm(booster)
        with pytest.raises(ModelError, match="multi-class"):
            rankgrove.from_lightgbm(self.train(objective="multiclass", num_class=4))
        for objective in ("regression", "regression_l1", "fair", "quantile", "mape"):
            with pytest.raises(ModelError, match=f"'{objective} sqrt' squares"):
                rankgrove.from_lightgbm(self.train(objective=objective, reg_sqrt=True, rounds=2))
        with pytest.raises(ModelError, match="linear leaves"):
            rankgrove.from_lightgbm(
                self.train(training_data(missing=False), objective="regression", linear_tree=True)
            )
        with pytest.raises(ModelError, match="not int"):
            rankgrove.from_lightgbm(3)
        with pytest.raises(ModelError, match="No such file"):
            rankgrove.from_lightgbm(tmp_path / "absent.txt")

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("left_child=", "left_child=99 "),
            ("left_child=1", "left_child=0"),
            ("threshold=", "threshold=x"),
            ("threshold=", "threshold=nan "),
            ("leaf_value=", "leaf_value=inf "),
            ("split_feature=", "split_feature=-5 "),
            ("num_leaves=", "num_leaves=9"),
            ("max_feature_idx=5", "max_feature_idx=0"),
            ("max_feature_idx=5", "max_feature_idx=99999999999"),
            ("end of trees", ""),
            ("tree\n", "wood\n"),
            ("num_class=1", "num_class=one"),
        ],
    )
    def test_broken_text_is_refused(self, tmp_path, old, new):
        text = self.train(rounds=2).model_to_string()
        assert old in text
        path = tmp_path / "broken.txt"
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(ModelError, match=r"broken\.txt"):
            rankgrove.from_lightgbm(path)

    def test_feature_numbers_do_not_wrap_around(self, tmp_path):
        text = self.train(rounds=1).model_to_string()
        before, numbers, after = re.split(r"(?<=split_feature=)([\d ]+)", text, maxsplit=1)
        first, *others = numbers.split()
        beyond = int(first) + 2**16  # the same number in 16 bits
        changed = " ".join([str(beyond), *others])
        path = tmp_path / "broken.txt"
        path.write_text(f"{before}{changed}{after}")
        with pytest.raises(ModelError, match=f"feature {beyond}, but there are 6"):
            rankgrove.from_lightgbm(path)


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
        types = ["c", *["q"] * (N_FEATURES - 1)]
        X[:, 0] = np.abs(np.round(X[:, 0] * 3))
        data = self.xgboost.DMatrix(X, y, feature_types=types, enable_categorical=True)
        booster = self.xgboost.train({"nthread": 1, "max_cat_to_onehot": 1}, data, 5)
        with pytest.raises(ModelError, match="categorical split on feature 0"):
            rankgrove.from_xgboost(booster)
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
        with pytest.raises(ModelError, match="categorical_features"):
            rankgrove.from_catboost(theirs.fit(pool))
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
    rounded = at_most(t)
    with np.errstate(over="ignore"):
        next_up = np.nextafter(rounded, np.float32(np.inf))
    for x in (rounded, next_up):
        np.testing.assert_array_equal(x.astype(np.float64) <= t, x <= rounded)
    c = rounded[:-6]
    for x in (c, below(c)):
        np.testing.assert_array_equal(x < c, x <= below(c))


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
