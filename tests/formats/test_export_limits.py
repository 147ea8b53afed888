"""What an export refuses, what it writes of linear models, and what is uploaded."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import rankgrove
from formats.export_cases import (
    N_FEATURES,
    NAMES,
    QUERIES,
    data,
    exported,
    model_of,
)
from rankgrove.datasets import make_ranking
from rankgrove.errors import ModelError
from rankgrove.formats.export_check import check_export
from rankgrove.formats.exporting import TARGETS, export_model, target_of
from rankgrove.rankers.base.provenance import make_provenance


@pytest.mark.filterwarnings("ignore:.*thresholds cannot be written for Solr")
class TestRefusals:
    """What a format cannot carry is refused by name, and nothing is written."""

    def refused(self, ranker, to, tmp_path, match, **options):
        with pytest.raises((ModelError, ValueError), match=match):
            ranker.export(tmp_path / "model", to, **options)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("to", TARGETS)
    def test_pairs_and_several_outputs(self, to, tmp_path):
        X, y, qid = data()
        pairs = rankgrove.RFPair(n_estimators=2, random_state=0).fit(X, y, qid=qid)
        self.refused(pairs, to, tmp_path, "'pairs' cannot be exported", feature_names=NAMES)
        several = rankgrove.McRank(n_estimators=2, random_state=0).fit(X, y, qid=qid)
        self.refused(several, to, tmp_path, "outputs", feature_names=NAMES)

    @pytest.mark.parametrize("to", [t for t in TARGETS if not target_of(t).carries_missing])
    def test_missing_values_that_are_not_zero(self, to, tmp_path):
        self.refused(model_of("boosted"), to, tmp_path, "missing='zero'", feature_names=NAMES)
        exported(model_of("zero"), to, tmp_path / "model")

    @pytest.mark.parametrize("to", [t for t in TARGETS if target_of(t).needs_names])
    def test_features_without_names(self, to, tmp_path):
        self.refused(model_of("zero"), to, tmp_path, "knows features by name")

    @pytest.mark.parametrize("to", [name for name in TARGETS if target_of(name).needs_names])
    def test_names_that_only_number_the_columns(self, to, tmp_path):
        path = tmp_path / "train.txt"
        path.write_text("0 qid:1 1:1 2:5\n1 qid:1 1:2 2:4\n" * 20)
        judged = rankgrove.load(path)
        path.unlink()
        for name in ("mart", "coordinate-ascent"):
            ranker = rankgrove.make_ranker(name, random_state=0).fit(judged)
            if name == "mart" or target_of(to).write_linear is not None:
                match = rf"{to} knows features by name.*\(f1, \.\.\.\) only number its columns"
                self.refused(ranker, to, tmp_path, match)
        ranker.export(tmp_path / "model", "solr", feature_names=["f1", "f2"])

    def test_features_that_the_target_does_not_have(self, tmp_path):
        options = {"feature_names": NAMES, "known_features": NAMES[:2]}
        self.refused(model_of("zero"), "solr", tmp_path, "'feature 2'", **options)
        options["known_features"] = NAMES
        model_of("zero").export(tmp_path / "model", "solr", **options)

    def test_features_of_a_linear_model_that_the_target_does_not_have(self, tmp_path):
        X, y, qid = data()
        X = np.nan_to_num(X)
        X[:, 0] = 0.0  # weighs nothing: the target need not know it
        linear = rankgrove.ListMLE(max_iter=3, random_state=0, missing="zero").fit(X, y, qid=qid)
        options = {"feature_names": NAMES, "known_features": NAMES[:2]}
        self.refused(linear, "solr", tmp_path, "'feature 2'", **options)
        options["known_features"] = NAMES[1:]
        linear.export(tmp_path / "model", "solr", **options)

    def test_unknown_words(self, tmp_path):
        self.refused(model_of("zero"), "weka", tmp_path, "there are lightgbm")
        self.refused(model_of("zero"), "c", tmp_path, "missing must be", missing="no")
        self.refused(model_of("zero"), "c", tmp_path, "nothing to upload", with_request=True)
        self.refused(model_of("zero"), "c", tmp_path, "8 different names", feature_names=["a"])

    def test_zero_as_missing_where_there_is_no_place_for_it(self, tmp_path):
        lightgbm = pytest.importorskip("lightgbm")
        X, y, _ = data()
        params = {"zero_as_missing": True, "verbose": -1, "num_threads": 1}
        ranker = rankgrove.from_lightgbm(lightgbm.train(params, lightgbm.Dataset(X, y), 3))
        self.refused(ranker, "xgboost", tmp_path, "takes 0 for missing")

    @pytest.mark.parametrize("name", ['say "bm25"', "a\\b", "a\x01b"])
    def test_names_that_lightgbm_would_write_as_broken_json(self, name, tmp_path):
        names = [name, *NAMES[1:]]
        self.refused(
            model_of("boosted"), "lightgbm", tmp_path, re.escape(repr(name)), feature_names=names
        )

    def test_names_that_lightgbm_takes_from_text(self, tmp_path):
        lightgbm = pytest.importorskip("lightgbm")
        names = ["bm25(a,b)", "a:b", "[0]", "{x}", "it's", "a|b=c", "tab\tand blank", "é"]
        model_of("boosted").export(tmp_path / "model.txt", "lightgbm", feature_names=names)
        booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
        assert booster.dump_model()["feature_names"] == ["_".join(name.split()) for name in names]

    @pytest.mark.parametrize("name", ["f[0]", "a<b", "a\fb", "a\x01b"])
    def test_names_that_xgboost_cannot_hold(self, name, tmp_path):
        names = (name, *NAMES[1:])
        self.refused(model_of("zero"), "xgboost", tmp_path, "as in '", feature_names=names)

    def test_a_missing_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="no folder"):
            model_of("zero").export(tmp_path / "absent" / "m.c", "c")


class TestLinear:
    def model(self, **options):
        from rankgrove.data.core.columns import Columns
        from rankgrove.models.linear import LinearModel

        weights = np.linspace(-1, 1, N_FEATURES)
        fill = np.zeros(N_FEATURES, np.float32)
        columns = Columns(NAMES, N_FEATURES)
        return LinearModel(columns=columns, **{"weights": weights, "fill": fill, **options})

    @pytest.mark.parametrize("to", ["solr", "elasticsearch", "opensearch"])
    def test_search_engines_take_weights(self, to, tmp_path):
        model = self.model()
        X = data()[0]
        export = export_model(model, tmp_path / "m.json", to, with_request=True)
        (agreement,) = check_export(model, export, X, QUERIES(len(X)))
        assert agreement.largest_difference < 1e-6 * np.nansum(np.abs(X), axis=1).max()
        if to != "solr":
            body = json.loads((tmp_path / "m.createmodel.json").read_text())
            assert body["model"]["model"]["type"] == "model/linear"

    def test_a_bag_of_linear_rankers_is_one_linear_model(self, tmp_path):
        X, y, qid = data()
        X = np.nan_to_num(X)
        bag = rankgrove.Bagged(ranker="listmle:max_iter=3,missing=zero", n_bags=3, random_state=0)
        bag.fit(X, y, qid=qid)
        export = bag.export(tmp_path / "m.json", "solr", feature_names=NAMES)
        (agreement,) = check_export(bag.model_, export, X, QUERIES(len(X)))
        assert agreement.largest_difference < 1e-6 * np.abs(X).sum(axis=1).max()
        weights = json.loads((tmp_path / "m.json").read_text())["params"]["weights"]
        mean = np.mean([part.weights for part in bag.model_.parts], axis=0)
        np.testing.assert_allclose([float(weights[name]) for name in NAMES], mean, rtol=1e-6)

    def test_linear_rankers_that_fill_differently_do_not_add_up(self, tmp_path):
        from rankgrove.models.sums import add_up

        filled = self.model(fill=np.ones(N_FEATURES, np.float32))
        with pytest.raises(ModelError, match="cannot be exported"):
            export_model(add_up([self.model(), filled]), tmp_path / "m.json", "solr")

    def test_trees_are_wanted_elsewhere(self, tmp_path):
        for to in ("lightgbm", "onnx", "c", "vespa"):
            with pytest.raises(ModelError, match="weights, not trees"):
                export_model(self.model(), tmp_path / "m", to)
        with pytest.raises(ModelError, match="within each query"):
            export_model(self.model(normalisation="query-minmax"), tmp_path / "m", "solr")
        with pytest.raises(ModelError, match="fills missing values"):
            export_model(self.model(fill=np.ones(N_FEATURES, np.float32)), tmp_path / "m", "solr")


class TestRequests:
    def test_bodies_are_written_beside_the_model(self, tmp_path):
        for to in ("elasticsearch", "opensearch", "solr", "vespa"):
            path = tmp_path / to / "my_model.json"
            path.parent.mkdir()
            export = exported(model_of("zero"), to, path, with_request=True)
            assert len(export.requests) >= 2
            for body in export.requests:
                if body.suffix == ".json" and to != "vespa":
                    json.loads(body.read_text())
                assert body.name.startswith("my_model.")

    def test_solr_is_told_that_fields_can_lack_a_value(self, tmp_path):
        for name, params in (("boosted", {"defaultValue": "NaN"}), ("zero", {})):
            options = {"missing": "zero" if name == "zero" else "keep", "with_request": True}
            exported(model_of(name), "solr", tmp_path / "m.json", **options)
            store = json.loads((tmp_path / "m.features.json").read_text())
            assert [feature["params"] for feature in store] == [
                {"field": field, **params} for field in NAMES
            ]

    @pytest.mark.parametrize(
        ("file", "name"), [("my model.v2.json", "my_model_v2"), ("2024-11.json", "model_2024_11")]
    )
    def test_models_are_called_by_words_that_engines_take(self, file, name, tmp_path):
        for to in ("opensearch", "solr", "vespa"):
            exported(model_of("boosted"), to, tmp_path / file, with_request=True)
        stem = file.removesuffix(".json")
        assert f"{{!ltr model={name} " in (tmp_path / f"{stem}.query.txt").read_text()
        assert f"rank-profile {name} " in (tmp_path / f"{stem}.profile.sd").read_text()
        body = json.loads((tmp_path / f"{stem}.createmodel.json").read_text())
        assert body["model"]["name"] == name

    def test_the_query_asks_for_fields_that_engines_have(self, tmp_path):
        exported(model_of("boosted"), "opensearch", tmp_path / "m.json", with_request=True)
        query = json.loads((tmp_path / "m.query.json").read_text())["query"]
        assert query == {"multi_match": {"query": "your words"}}

    def test_the_definition_is_the_file(self, tmp_path):
        path = tmp_path / "m.json"
        exported(model_of("boosted"), "opensearch", path, with_request=True)
        body = json.loads((tmp_path / "m.createmodel.json").read_text())["model"]
        assert body["name"] == "m"
        assert body["model"]["type"] == "model/xgboost+json"
        assert body["model"]["definition"] == path.read_text()
        features = json.loads((tmp_path / "m.featureset.json").read_text())["featureset"]
        assert [feature["name"] for feature in features["features"]] == list(NAMES)


def test_lightgbm_text_holds_the_ranges_of_the_training_data(tmp_path):
    X = np.column_stack([np.arange(60.0), np.arange(60.0) % 7, np.zeros(60), np.arange(60.0) / 60])
    y, qid = (X[:, 0] > 30).astype(float), np.repeat(np.arange(6), 10)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(label=y, qid=qid)
    data = rankgrove.load(frame)
    ranker = rankgrove.MART(n_estimators=2, min_samples_leaf=1, random_state=0).fit(data)
    infos = {}
    for known in (False, True):
        if known:
            ranker.provenance_ = make_provenance(data=data)
            # An earlier training may have had thresholds beyond.
            ranker.provenance_["ranges"]["d"] = [0.25, 0.75]
        ranker.export(tmp_path / "m.txt", "lightgbm", feature_names=["one", "two", "three", "four"])
        lines = (tmp_path / "m.txt").read_text().splitlines()
        infos[known] = next(line for line in lines if line.startswith("feature_infos="))
    assert "[0.0:59.0] [0.0:6.0] none " in infos[True]
    assert infos[True] != infos[False]
    assert "0.0:59.0" not in infos[False]


def test_a_name_by_which_xgboost_takes_the_file_for_another_format_is_refused(tmp_path):
    ranker = rankgrove.MART(n_estimators=1).fit(make_ranking(4, n_features=3, seed=1))
    with pytest.raises(ValueError, match=r"xgboost reads a file that ends in \.ubj as another"):
        ranker.export(tmp_path / "model.ubj", to="xgboost")
    assert not list(tmp_path.iterdir())
