"""Model files in comparisons, and the gate of scripts."""

import warnings

import numpy as np
import pytest

import rankgrove
from rankgrove import write_letor
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataWarning


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    data = make_ranking(60, preset="letor4", seed=1)
    good = rankgrove.MART(n_estimators=20, random_state=1).fit(data)
    rng = np.random.default_rng(1)
    bad = rankgrove.MART(n_estimators=20, random_state=1)
    bad.fit(data.X, -data.y + data.y.max() + rng.random(data.n_rows), data.qid)
    good.save(folder / "good.rg")
    bad.save(folder / "bad.rg")
    write_letor(make_ranking(60, preset="letor4", seed=2), folder / "judged.txt")
    return folder


@pytest.fixture
def there(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    return ["compare", "judged.txt", "--quiet", "--folds", "3", "--out", str(tmp_path / "results")]


def test_names_that_the_data_lack_are_told_once(folder):
    data = rankgrove.load(folder / "judged.txt")
    with pytest.warns(DataWarning) as told:
        rankgrove.compare(data, {"old": f"model:{folder / 'good.rg'}", "two": "random"}, folds=3)
    assert sum("has no names for its columns" in str(w.message) for w in told) == 1


@pytest.mark.filterwarnings("ignore:.*has no names for its columns")  # of LETOR text
def test_a_model_file_is_measured_on_all_queries(folder):
    data = rankgrove.load(folder / "judged.txt")
    model = rankgrove.load_model(folder / "good.rg")
    found = rankgrove.compare(
        data, {"old": f"model:{folder / 'good.rg'}", "mart": "mart:n_estimators=3"}, folds=3
    )
    expected = rankgrove.evaluate(data, model.predict(data), metrics="ndcg@10")["ndcg@10"]
    name = found.datasets[0]
    result = next(r for r in found.results(name) if r.ranker == "old")
    assert result.values["ndcg@10"] == pytest.approx(expected, abs=1e-12)
    assert result.fit_seconds is None


def test_the_gate_lets_an_equal_model_pass_and_stops_a_worse_one(there, capsys):
    gate = ["--fail-if-worse", "ndcg@10"]
    assert (
        main([*there, "--ranker", "old=model:good.rg", "--ranker", "new=model:good.rg", *gate]) == 0
    )
    worse = ["--ranker", "old=model:good.rg", "--ranker", "new=model:bad.rg"]
    capsys.readouterr()
    assert main([*there, *worse, *gate]) == 3
    said = capsys.readouterr()
    assert "significantly worse than old by ndcg@10: new on" in said.err
    assert "new" in said.out  # the table comes first
    better = ["--baseline", "new"]
    assert main([*there, *worse, *gate, *better]) == 0


def test_a_gate_that_cannot_decide_does_not_pass(there, folder, capsys):
    (folder / "broken.rg").write_bytes(b"RGROVE?")
    gate = ["--fail-if-worse", "ndcg@10"]
    models = ["--ranker", "model:good.rg", "--ranker", "new=model:broken.rg"]
    assert main([*there, *models, *gate]) == 1
    assert "the gate cannot decide: new has no result on" in capsys.readouterr().err
    data = rankgrove.load(folder / "judged.txt")
    few = data.select_queries(np.arange(4))
    write_letor(few, folder / "few.txt")
    models = ["--ranker", "model:good.rg", "--ranker", "new=model:bad.rg"]
    options = ["--quiet", "--folds", "3", *models, *gate]
    assert main(["compare", "few.txt", *options, "--out", str(folder / "few")]) == 1
    assert "4 queries of few are too few to find any difference" in capsys.readouterr().err


def test_results_follow_the_content_of_the_file(there, folder, capsys):
    (folder / "current.rg").write_bytes((folder / "good.rg").read_bytes())
    command = [*there, "--ranker", "model:good.rg", "--ranker", "now=model:current.rg"]
    gate = ["--fail-if-worse", "ndcg@10"]
    assert main([*command, *gate]) == 0
    (folder / "current.rg").write_bytes((folder / "bad.rg").read_bytes())
    assert main([*command, *gate]) == 3


def test_the_gate_needs_a_measured_metric_and_two_rankers(there, capsys):
    two = ["--ranker", "model:good.rg", "--ranker", "model:bad.rg"]
    assert main([*there, *two, "--fail-if-worse", "err@5"]) == 1
    assert "--fail-if-worse err@5 is not measured" in capsys.readouterr().err
    assert main([*there, *two[:2], "--fail-if-worse", "ndcg@10"]) == 1
    assert "give at least two" in capsys.readouterr().err
    assert main([*there, "--ranker", "model:"]) != 0


def test_a_model_that_was_trained_with_the_file_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("old.txt", 1), ("new.txt", 2)):
        write_letor(make_ranking(9, n_features=4, seed=seed), name)
    words = ["train", "mart", "old.txt", "--n-estimators", "2", "--quiet", "--out", "old.rg"]
    assert main(words) == 0
    options = {"folds": 3, "metrics": ["ndcg@10"]}
    with pytest.warns(DataWarning, match="old was trained with old.txt, on which"):
        rankgrove.compare("old.txt", ["old=model:old.rg", "random"], **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        rankgrove.compare("new.txt", ["old=model:old.rg", "random"], **options)
