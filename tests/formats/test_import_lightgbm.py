"""Imported models of LightGBM predict what LightGBM predicts, on every edge."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rankgrove
from formats.import_cases import assert_same, edge_rows, training_data
from rankgrove.errors import DataError, ModelError


class TestLightGBM:
    lightgbm = pytest.importorskip("lightgbm")

    def train(self, data=None, rounds=25, **params):
        X, y, qid = data or training_data()
        settings = {"objective": "lambdarank", "num_leaves": 15, "min_data_in_leaf": 5}
        settings |= {"verbose": -1, "num_threads": 1, **params}
        group = np.bincount(qid) if "rank" in settings["objective"] else None
        label = (y > 1).astype(float) if settings["objective"] == "binary" else y
        return self.lightgbm.train(settings, self.lightgbm.Dataset(X, label, group=group), rounds)

    @pytest.mark.slow
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
        with pytest.raises(ModelError, match=r"absent\.txt: no such file$"):
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
