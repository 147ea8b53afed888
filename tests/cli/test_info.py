"""``rankgrove info``."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankgrove as rg
from rankgrove.cli.main import main


def test_table(rankgrove, data_file):
    run = rankgrove("info", data_file)
    assert (run.returncode, run.stderr) == (0, "")
    assert "5 rows, 3 queries, 3 features" in run.stdout
    assert "documents per query" in run.stdout
    assert "warning: 1 query split over the file" in run.stdout
    assert "warning: 1 query without a relevant document" in run.stdout
    assert "warning: 2 queries with one document" in run.stdout


def test_json(rankgrove, data_file):
    run = rankgrove("info", data_file, "--json", "--absent", "missing")
    found = json.loads(run.stdout)
    assert (found["rows"], found["queries"], found["features"]) == (5, 3, 3)
    assert found["grades"] == {"0": 3, "1": 1, "2": 1}
    assert found["query_lengths"]["max"] == 3
    assert found["query_lengths"]["median"] == 1
    assert found["missing_share"] == 7 / 15
    assert found["missing_features"] == {"f1": 0.2, "f2": 0.4, "f3": 0.8}
    assert found["zero_share"] == 0


def test_square_brackets_in_names_are_text(rankgrove, data_file, tmp_path):
    data_file.rename(tmp_path / "[red]data.txt")
    run = rankgrove("info", "[red]data.txt")
    assert "[red]data.txt: 5 rows" in run.stdout


def squared(scores, labels, queries, weights):
    return scores - labels, np.ones_like(scores)


@pytest.mark.filterwarnings("ignore:every document gets the same score")
@pytest.mark.parametrize(
    ("name", "ranker"),
    [
        ("objective", rg.CustomMART(objective=squared, n_estimators=1)),
        ("forest", rg.IGBRT(forest=rg.RandomForest(n_estimators=2), n_estimators=1)),
    ],
)
def test_json_of_a_model_tells_parameters_that_are_no_data_in_words(
    rankgrove, data_file, tmp_path, name, ranker
):
    ranker.fit(rg.load(data_file)).save(tmp_path / "model.rg")
    run = rankgrove("info", "model.rg", "--json")
    assert run.returncode == 0, run.stderr
    parameters = json.loads(run.stdout)["parameters"]
    assert parameters["n_estimators"] == 1
    assert isinstance(parameters[name], str)


def test_texts_are_left_out_also_if_asked_for(rankgrove, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,qid,doc,name,f\n1,1,a,x,3\n0,1,b,y,2\n1,2,c,z,1\n")
    said = rankgrove("info", path, "--ignore", "texts").stdout
    assert said == rankgrove("info", path).stdout
    assert "3 rows, 2 queries, 1 feature" in said


def test_a_damaged_model_file_is_named_as_one(tmp_path, capsys):
    (tmp_path / "bad.rg").write_bytes(b"xxROVE\r\n" + bytes(200))
    assert main(["info", str(tmp_path / "bad.rg")]) == 1
    assert "bad.rg: not a rankgrove model file" in capsys.readouterr().err


def test_a_table_of_text_that_is_called_parquet_gets_a_hint(tmp_path, capsys):
    (tmp_path / "d.parquet").write_text("qid,label,a\n1,1,0.5\n1,0,0.25\n")
    assert main(["info", str(tmp_path / "d.parquet")]) == 1
    assert "If it is CSV, --format csv reads it." in capsys.readouterr().err
    assert main(["info", str(tmp_path / "d.parquet"), "--format", "csv"]) == 0


@pytest.mark.parametrize("option", ["--label grade", "--absent missing", "--n-jobs 1"])
def test_options_of_reading_are_refused_for_a_model(rankgrove, data_file, tmp_path, option):
    rg.MART(n_estimators=1, min_samples_leaf=1).fit(rg.load(data_file)).save(tmp_path / "model.rg")
    run = rankgrove("info", "model.rg", *option.split())
    assert (run.returncode, run.stdout) == (1, "")
    name = option.split()[0]
    assert run.stderr.endswith(f"{name} has no effect on a model: model.rg is a model file\n")
