"""``predict``, ``evaluate`` and ``explain`` take folders, several files and patterns."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankgrove
from rankgrove.cli.main import main, verb_parser
from rankgrove.data.writing import write_letor
from rankgrove.datasets import make_ranking


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    (folder / "parts").mkdir()
    whole = make_ranking(12, seed=4)
    rankgrove.MART(n_estimators=3, random_state=0).fit(whole).save(folder / "m.rg")
    query = whole.groups.query_of_row()
    for part in range(3):
        chosen = whole.select_rows(query // 4 == part)
        write_letor(chosen, folder / "parts" / f"{part}.txt")
    write_letor(whole, folder / "whole.txt")
    return folder


def ways(folder):
    parts = folder / "parts"
    files = [str(parts / f"{part}.txt") for part in range(3)]
    return {"folder": [str(parts)], "files": files, "pattern": [str(parts / "*.txt")]}


@pytest.mark.parametrize("way", ["folder", "files", "pattern"])
@pytest.mark.parametrize("suffix", ["txt", "csv"])
def test_predict(folder, way, suffix, tmp_path):
    for words, out in ((ways(folder)[way], "a"), ([str(folder / "whole.txt")], "b")):
        out = str(tmp_path / f"{out}.{suffix}")
        assert main(["predict", str(folder / "m.rg"), *words, "--out", out]) == 0
    assert (tmp_path / f"a.{suffix}").read_text() == (tmp_path / f"b.{suffix}").read_text()


@pytest.mark.parametrize("way", ["folder", "files", "pattern"])
def test_evaluate(folder, way, tmp_path, capsys):
    scores = np.random.default_rng(0).normal(size=rankgrove.load(folder / "whole.txt").n_rows)
    np.savetxt(tmp_path / "scores.txt", scores)
    found = []
    for words in (ways(folder)[way], [str(folder / "whole.txt")]):
        assert main(["evaluate", str(tmp_path / "scores.txt"), *words, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


@pytest.mark.parametrize("way", ["folder", "files", "pattern"])
def test_explain(folder, way, capsys):
    found = []
    query = str(rankgrove.load(folder / "whole.txt").groups.ids[-1])
    for words in (ways(folder)[way], [str(folder / "whole.txt")]):
        assert main(["explain", str(folder / "m.rg"), *words, "--query-id", query, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


@pytest.mark.parametrize("way", ["folder", "files", "pattern"])
def test_explain_all_rows(folder, way, capsys):
    found = []
    for words in (ways(folder)[way], [str(folder / "whole.txt")]):
        assert main(["explain", str(folder / "m.rg"), *words, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


def test_a_query_in_two_files_is_named_with_both(folder, capsys):
    words = [str(folder / "parts" / "0.txt")] * 2
    assert main(["explain", str(folder / "m.rg"), *words, "--query-id", "1"]) == 1
    said = capsys.readouterr().err
    assert f"occurs in {words[0]} and in {words[1]}: --shared-queries merge takes" in said
    assert "--shared-queries apart as two" in said


def test_absent_scores_are_named_before_the_data_are_read(folder, capsys):
    assert main(["evaluate", "nothing.run", str(folder / "m.rg")]) == 1
    assert "nothing.run: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["info", "explain", "evaluate", "export", "split", "convert"])
def test_verbs_that_read_several_files_take_the_option_that_errors_recommend(verb):
    assert "--shared-queries" in verb_parser(verb).format_help()
