"""What search engines ask of an export: arrays of trees, scores of at least 0, used features."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankgrove
from formats.export_cases import NAMES, data, edge_rows, exported, fitted, model_of
from oracles import export_targets
from rankgrove.datasets import make_ranking
from rankgrove.errors import ModelError
from rankgrove.formats.exporting import target_of
from rankgrove.formats.feature_templates import template_of

LUCENE = ("elasticsearch", "opensearch", "solr")


def definition(ranker, to, path, **options):
    return json.loads(exported(ranker, to, path, **options).path.read_text())


@pytest.fixture(scope="module")
def complete():
    """A model that was trained without a missing value."""
    X, y, qid = data(missing=False)
    return rankgrove.LambdaMART(n_estimators=10, random_state=0).fit(X, y, qid=qid)


class TestDefinition:
    def test_is_an_array_of_trees(self, tmp_path):
        for name in ("boosted", "zero", "forest"):
            missing = {"elasticsearch": "zero", "opensearch": None}
            for to, asked in missing.items():
                trees = definition(model_of(name), to, tmp_path / "m", missing=asked)
                assert isinstance(trees, list)
                assert all("nodeid" in tree for tree in trees)

    def test_is_an_object_only_for_missing_as_zero(self, tmp_path):
        found = definition(model_of("boosted"), "opensearch", tmp_path / "m", missing="zero")
        assert list(found) == ["missing_as_zero", "splits"]
        found = definition(model_of("boosted"), "elasticsearch", tmp_path / "m", missing="zero")
        assert isinstance(found, list)


class TestScoresAreAtLeastZero:
    @pytest.mark.parametrize("to", LUCENE)
    def test_and_documents_keep_their_order(self, to, tmp_path):
        ranker = model_of("boosted")
        export = exported(ranker, to, tmp_path / "m", missing="zero")
        X = np.nan_to_num(edge_rows(ranker))
        own = ranker.predict(X)
        assert export.shift > 0 > own.min()
        scores = target_of(to).evaluate(export.path.read_bytes(), X, NAMES)
        assert scores.min() >= 0
        if to == "solr":  # whose thresholds may move, see test_exports
            return
        # No pair is turned, and only scores within float32 rounding become equal.
        order = np.argsort(own, kind="stable")
        fell = np.diff(scores[order])
        assert fell.min() >= -4 * np.spacing(np.float32(scores.max()))
        np.testing.assert_allclose(scores - export.shift, own, atol=1e-6)

    def test_the_lowest_sum_becomes_zero(self, tmp_path):
        """A document in the lowest leaf of every tree gets exactly 0."""
        X = np.array([[0.0], [1.0]] * 10, np.float32)
        y = np.array([0.0, 1.0] * 10)
        stumps = rankgrove.MART(
            n_estimators=7, max_leaf_nodes=2, min_samples_leaf=1, random_state=0
        )
        ranker = stumps.fit(X, y - 5, qid=np.repeat(np.arange(10), 2))
        export = ranker.export(tmp_path / "m", "elasticsearch", feature_names=["a"])
        text = export.path.read_text()
        low, high = (
            export_targets.elasticsearch(text, row, ["a"], unmatched_is_zero=True) for row in X[:2]
        )
        assert low == 0 < high
        assert export.shift == pytest.approx(-ranker.predict(X[:1])[0], rel=1e-6)

    def test_scores_that_are_never_negative_stay(self, tmp_path):
        export = exported(model_of("base score"), "opensearch", tmp_path / "m")
        assert export.shift == 0
        export = exported(model_of("boosted"), "vespa", tmp_path / "m")
        assert export.shift == 0


class TestTrainingWithoutMissingValues:
    @pytest.mark.parametrize("to", [*LUCENE, "ranklib"])
    def test_a_frame_is_exported_as_text_is(self, to, complete, tmp_path):
        X, y, qid = data(missing=False)
        rankgrove.write_letor(rankgrove.load(X, y, qid=qid), tmp_path / "train.txt")
        text = rankgrove.load(tmp_path / "train.txt")
        of_text = rankgrove.LambdaMART(n_estimators=10, random_state=0).fit(text)
        export = exported(complete, to, tmp_path / "frame")
        assert "training saw no missing value" in export.reason
        assert export.missing == "zero"
        other = exported(of_text, to, tmp_path / "text")
        assert "training read absent features as 0" in other.reason
        assert export.path.read_bytes() == other.path.read_bytes()

    def test_the_model_file_knows_it(self, complete, tmp_path):
        complete.save(tmp_path / "m.rg")
        again = rankgrove.load_model(tmp_path / "m.rg")
        assert again.model_.saw_missing is False
        assert model_of("boosted").model_.saw_missing is True
        forest = fitted(rankgrove.RFPoint(n_estimators=2, random_state=0))
        assert forest.model_.saw_missing is True
        assert model_of("fill").model_.saw_missing is None  # fill values hide it

    def test_a_sum_knows_it_of_its_parts(self, complete):
        X, y, qid = data(missing=True)
        more = rankgrove.LambdaMART(n_estimators=2, random_state=0)
        assert more.fit(X, y, qid=qid, init_model=complete).model_.saw_missing is True
        more.fit(np.nan_to_num(X), y, qid=qid, init_model=complete)
        assert more.model_.saw_missing is False

    def test_missing_values_in_training_are_still_refused(self, tmp_path):
        with pytest.raises(ModelError, match="sends missing values elsewhere than 0"):
            exported(model_of("boosted"), "elasticsearch", tmp_path / "m")

    @pytest.mark.filterwarnings("ignore:.*thresholds cannot be written for Solr")
    @pytest.mark.parametrize("missing", ["keep", "inf"])
    @pytest.mark.parametrize("to", ["elasticsearch", "opensearch", "solr", "ranklib"])
    def test_text_that_spells_out_missing_values_has_some(self, to, missing, tmp_path):
        """Absent features are 0 there, but NULL is not."""
        X, y, qid = data(missing=True)
        lines = [
            f"{grade:g} qid:{query} "
            + " ".join(f"{j}:{'NULL' if np.isnan(v) else v}" for j, v in enumerate(row, 1))
            for grade, query, row in zip(y, qid, X, strict=True)
        ]
        (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
        text = rankgrove.load(tmp_path / "train.txt")
        assert np.isnan(text.X).any()
        ranker = rankgrove.LambdaMART(n_estimators=10, missing=missing, random_state=0).fit(text)
        with_nan = rankgrove.LambdaMART(n_estimators=10, missing=missing, random_state=0)
        names = [f"name{j}" for j in range(X.shape[1])]

        def outcome(model):
            try:
                return model.export(tmp_path / "m", to, feature_names=names).missing
            except ModelError as error:
                return str(error)

        found = outcome(ranker)
        assert found == outcome(with_nan.fit(X, y, qid=qid))
        assert found == "keep" or "sends missing values elsewhere than 0" in found


class TestUploadedFeatures:
    def test_only_used_ones_are_uploaded(self, tmp_path):
        train = make_ranking(30, n_features=20, seed=1)
        ranker = rankgrove.LambdaMART(n_estimators=2, max_leaf_nodes=3, random_state=0).fit(train)
        used = np.array(train.feature_names)[ranker.importances("split") > 0].tolist()
        assert 0 < len(used) < 5
        for to in LUCENE:
            ranker.export(tmp_path / f"{to}.json", to, with_request=True)
        for to in ("elasticsearch", "opensearch"):
            body = json.loads((tmp_path / f"{to}.featureset.json").read_text())
            assert [feature["name"] for feature in body["featureset"]["features"]] == used
        store = json.loads((tmp_path / "solr.features.json").read_text())
        assert [feature["name"] for feature in store] == used
        model = json.loads((tmp_path / "solr.json").read_text())
        assert [feature["name"] for feature in model["features"]] == used

    @pytest.mark.parametrize(
        ("name", "field", "kind"),
        [
            ("title_bm25", "title", "match"),
            ("bm25(body.en)", "body.en", "match"),
            ("title phrase", "title", "phrase"),
            ("description", "description", "match"),
            ("title_length", "title_length", "number"),
            ("popularity", "popularity", "number"),
            ("feature_7", "feature_7", "number"),
            ("bm25", "bm25", "match"),
        ],
    )
    def test_templates_fit_the_kind_of_feature(self, name, field, kind):
        found = template_of(name)
        assert (found.feature, found.field, found.kind) == (name, field, kind)

    def test_texts_are_matched_and_numbers_are_read(self):
        text = template_of("title_bm25").for_ltr_plugin()
        assert text["template"] == {"match": {"title": "{{keywords}}"}}
        assert text["params"] == ["keywords"]
        number = template_of("price").for_ltr_plugin()
        factor = number["template"]["function_score"]["field_value_factor"]
        assert (factor, number["params"]) == ({"field": "price"}, [])
        assert template_of("price").for_solr({})["class"].endswith(".FieldValueFeature")
        solr = template_of("title_bm25").for_solr({})
        assert solr["class"].endswith(".SolrFeature")
        assert solr["params"] == {"q": "{!dismax qf=title}${keywords}"}
