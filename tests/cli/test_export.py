"""``rankgrove export``."""

from __future__ import annotations

import json

import pytest

import rankgrove
from rankgrove.cli.main import main
from rankgrove.data.writing import write_letor
from rankgrove.datasets import make_ranking


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    train, test = make_ranking(20, seed=1), make_ranking(10, seed=2)
    rankgrove.LambdaMART(n_estimators=5, random_state=0).fit(train).save(folder / "model.rg")
    write_letor(test, folder / "test.txt")
    return folder


def run(folder, *words):
    return main(["export", str(folder / "model.rg"), *words])


@pytest.mark.process
def test_a_checked_export(folder, capsys):
    out = str(folder / "model.c")
    assert run(folder, "--to", "c", "--out", out, "--check", str(folder / "test.txt")) == 0
    shown = capsys.readouterr().out
    assert "changed ranks" in shown
    assert "the arithmetic of c" in shown


def test_json(folder, capsys):
    out = str(folder / "model.json")
    words = ["--to", "opensearch", "--out", out, "--with-request", "--json"]
    assert run(folder, *words, "--check", str(folder / "test.txt")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "opensearch"
    assert found["check"][0]["rows"] == len(rankgrove.load(folder / "test.txt").y)
    assert found["check"][0]["changed_ranks"] == 0
    assert found["requests"] == [
        str(folder / f"model.{part}.json") for part in ("featureset", "createmodel", "query")
    ]


def test_a_changed_rank_is_a_failure_unless_allowed(folder, capsys, monkeypatch):
    from rankgrove.formats import export_check

    def one_changed(*_):
        return [export_check.Agreement("somebody", 1e-9, 1, 10)]

    monkeypatch.setattr(export_check, "check_export", one_changed)
    words = ["--to", "c", "--out", str(folder / "m.c"), "--check", str(folder / "test.txt")]
    assert run(folder, *words) == 1
    assert "1 documents change their rank" in capsys.readouterr().err
    assert run(folder, *words, "--allow-changed-ranks", "1") == 0


def test_names_and_known_features(folder, capsys):
    n_features = rankgrove.load_model(folder / "model.rg").n_features_in_
    names = folder / "names.txt"
    names.write_text("\n".join(f"bm25(field{j})" for j in range(n_features)) + "\n")
    words = ["--to", "vespa", "--out", str(folder / "vespa.json"), "--feature-names", str(names)]
    assert run(folder, *words) == 0
    assert "bm25(field0)" in (folder / "vespa.json").read_text()
    known = folder / "known.txt"
    known.write_text("popularity\n")
    assert run(folder, *words, "--known-features", str(known)) == 1
    assert "not among the 1 known features" in capsys.readouterr().err


def test_unknown_targets_are_usage_errors(folder):
    with pytest.raises(SystemExit) as stop:
        run(folder, "--to", "pmml", "--out", "m")
    assert stop.value.code == 2
