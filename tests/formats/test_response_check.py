"""``export --check-response``: scores of an engine against those of the exported file.

The engines are played by ``oracles.export_targets``.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from formats.export_cases import NAMES, data, exported, model_of
from oracles import export_targets
from rankgrove.cli.main import main
from rankgrove.errors import DataError, ModelError
from rankgrove.formats.response_check import check_response, refuse_other_scores

ROWS = 12


def engine_scores(to, text, X):
    if to in ("elasticsearch", "opensearch"):
        zero = to == "elasticsearch"
        return [export_targets.elasticsearch(text, row, NAMES, unmatched_is_zero=zero) for row in X]
    return [getattr(export_targets, to)(text, row, NAMES) for row in X]


def response(to, X, scores):
    """A response of the engine: documents by falling score, features that match alone."""
    hits = []
    for i in np.argsort(-np.array(scores), kind="stable"):
        logged = {n: float(x) for n, x in zip(NAMES, X[i], strict=True) if not np.isnan(x)}
        if to == "solr":
            text = ",".join(f"{name}={x!r}" for name, x in logged.items())
            hits.append({"id": f"d{i}", "score": scores[i], "[features]": text})
        elif to == "vespa":
            fields = {"matchfeatures": {n: logged.get(n) for n in NAMES}}
            hits.append({"id": f"d{i}", "relevance": scores[i], "fields": fields})
        else:
            log = [{"name": n, **({"value": logged[n]} if n in logged else {})} for n in NAMES]
            hits.append(
                {"_id": f"d{i}", "_score": scores[i], "fields": {"_ltrlog": [{"main": log}]}}
            )
    if to == "solr":
        return {"response": {"docs": hits}}
    return {"root": {"children": hits}} if to == "vespa" else {"hits": {"hits": hits}}


def prepared(to, tmp_path):
    ranker = model_of("zero" if to != "vespa" else "boosted")
    missing = "zero" if to == "elasticsearch" else None
    export = exported(ranker, to, tmp_path / "m.json", missing=missing)
    X = data()[0][:ROWS]
    return ranker, export, X, engine_scores(to, export.path.read_text(), X)


def written(tmp_path, content):
    path = tmp_path / "response.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("to", ["elasticsearch", "opensearch", "vespa"])
def test_equal_scores_agree(to, tmp_path):
    ranker, export, X, scores = prepared(to, tmp_path)
    path = written(tmp_path, {"responses": [response(to, X, scores)] * 2})
    found = check_response(ranker.model_, export, path)
    assert [one.against for one in found] == ["the file", "the model"]
    for one in found:
        assert (one.rows, one.changed_ranks) == (2 * ROWS, 0)
        assert one.largest_difference < 1e-5
    refuse_other_scores(found, path)


@pytest.mark.filterwarnings("ignore:.*thresholds cannot be written for Solr")
def test_solr(tmp_path):
    names = [name.replace(" ", "_") for name in NAMES]
    ranker = model_of("zero")
    export = ranker.export(tmp_path / "m.json", "solr", feature_names=names)
    X = np.nan_to_num(data()[0][:ROWS])
    scores = [export_targets.solr(export.path.read_text(), row, names) for row in X]
    answer = response("solr", X, scores)
    for hit in answer["response"]["docs"]:
        hit["[features]"] = hit["[features]"].replace(" ", "_")
    for one in check_response(ranker.model_, export, written(tmp_path, answer)):
        assert one.largest_difference < 1e-5
        assert one.changed_ranks == 0


def test_the_score_of_the_first_query_is_noticed(tmp_path):
    ranker, export, X, scores = prepared("opensearch", tmp_path)
    added = [score + 1.5 for score in scores]
    path = written(tmp_path, response("opensearch", X, added))
    found = check_response(ranker.model_, export, path)
    with pytest.raises(ModelError, match=r"by up to 1\.5.*query_weight"):
        refuse_other_scores(found, path)


def test_a_feature_of_another_definition_is_noticed(tmp_path):
    ranker, export, X, _ = prepared("opensearch", tmp_path)
    other = X.copy()
    other[:, 0] *= -1
    scores = engine_scores("opensearch", export.path.read_text(), other)
    path = written(tmp_path, response("opensearch", X, scores))
    assert max(one.changed_ranks for one in check_response(ranker.model_, export, path)) > 0


def test_what_a_response_lacks_is_named(tmp_path):
    ranker, export, X, scores = prepared("opensearch", tmp_path)
    answer = response("opensearch", X, scores)
    answer["hits"]["hits"][3]["_score"] = None
    with pytest.raises(DataError, match=r"the _score of document 'd\d+' is None"):
        check_response(ranker.model_, export, written(tmp_path, answer))
    answer = response("opensearch", X, scores)
    for hit in answer["hits"]["hits"]:
        del hit["fields"]["_ltrlog"][0]["main"][0]
    with pytest.raises(DataError, match=f"1 features of the model were not logged: '{NAMES[0]}'"):
        check_response(ranker.model_, export, written(tmp_path, answer))
    hits = [{"_id": "a", "_score": 1.0}]
    with pytest.raises(DataError, match="no logged features"):
        check_response(ranker.model_, export, written(tmp_path, {"hits": {"hits": hits}}))
    for empty in ({"hits": {"hits": []}}, {"took": 3}):
        with pytest.raises(DataError, match=r"no documents|no search response"):
            check_response(ranker.model_, export, written(tmp_path, empty))


def test_on_the_command_line(tmp_path, capsys):
    ranker, _, X, scores = prepared("opensearch", tmp_path)
    ranker.save(tmp_path / "m.rg")
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    words = ["export", str(tmp_path / "m.rg"), "--to", "opensearch", "--out"]
    words += [str(tmp_path / "out.json"), "--feature-names", str(tmp_path / "names.txt")]
    path = written(tmp_path, response("opensearch", X, scores))
    assert main([*words, "--check-response", str(path)]) == 0
    assert "the engine" in capsys.readouterr().out
    path = written(tmp_path, response("opensearch", X, [s + 1 for s in scores]))
    assert main([*words, "--check-response", str(path)]) == 1
    assert "scores of the engine differ" in capsys.readouterr().err
    assert main([*words, "--log-name", "main"]) == 1
    assert "--log-name belongs to --check-response" in capsys.readouterr().err
