"""``compare`` of runs against judgments."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankgrove.cli.main import main
from rankgrove.errors import DataWarning
from rankgrove.experiments.run_comparison import compare_runs, runs_among
from rankgrove.metrics.runs import evaluate_run

N_QUERIES, N_DOCUMENTS = 30, 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Judgments, a good run, a bad one, and one that lacks documents and a query."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 3, (N_QUERIES, N_DOCUMENTS))
    with open(folder / "qrels.txt", "w") as file:
        for q, row in enumerate(grades):
            file.writelines(f"q{q} 0 d{d} {grade}\n" for d, grade in enumerate(row))
    scores = {
        "good": grades + rng.normal(size=grades.shape),
        "bad": rng.normal(size=grades.shape),
    }
    scores["part"] = scores["good"][1:, :5]
    for name, values in scores.items():
        first = N_QUERIES - len(values)
        with open(folder / f"{name}.run", "w") as file:
            for q, row in enumerate(values, first):
                order = np.argsort(-row)
                for rank, d in enumerate(order, 1):
                    file.write(f"q{q} Q0 d{d} {rank} {row[d]:.6f} {name}\n")
    return folder


def test_values_are_those_of_evaluate(folder):
    runs = {name: folder / f"{name}.run" for name in ("good", "bad", "part")}
    metrics = ["ndcg@5", "map"]
    with pytest.warns(DataWarning, match="^part: judged queries that the run lacks: 1$"):
        found = compare_runs(folder / "qrels.txt", runs, metrics=metrics, preset="trec")
    (data,) = found.datasets
    for result in found.results(data):
        run = runs[result.ranker]
        alone = evaluate_run(folder / "qrels.txt", run, metrics=metrics, preset="trec")
        for name in found.metrics:
            assert result.values[name] == pytest.approx(alone[name], abs=1e-12)
            per_query = found.per_query(data, result.ranker, name)
            np.testing.assert_array_equal(per_query, alone.values(name))
    assert found.per_query(data, "part", found.metrics[0])[0] == 0  # the query that it lacks


def words(folder, *runs):
    return [
        "compare",
        str(folder / "qrels.txt"),
        "--metric",
        "ndcg@5",
        "map",
        "--preset",
        "trec",
    ] + [word for run in runs for word in ("--ranker", f"run:{folder / run}.run")]


def test_the_gate(folder, capsys):
    gate = ["--fail-if-worse", "ndcg@5"]
    assert main([*words(folder, "good", "bad"), *gate]) == 3
    assert "significantly worse than good" in capsys.readouterr().err
    assert main([*words(folder, "bad", "good"), *gate, "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert {result["ranker"] for result in results} == {"good", "bad"}


def test_what_does_not_go_together_is_refused(folder, capsys):
    assert main([*words(folder, "good"), "--ranker", "lambdamart"]) == 1
    assert "runs are compared with runs alone" in capsys.readouterr().err
    assert main([*words(folder, "good", "bad"), "--folds", "3"]) == 1
    assert "--folds has no effect on runs" in capsys.readouterr().err
    for options in (["--seed", "0"], ["--train-share", "0.5"], ["--retry"], ["--by-setting"]):
        assert main([*words(folder, "good", "bad"), *options]) == 1
        assert f"{options[0]} has no effect on runs" in capsys.readouterr().err
    assert main([*words(folder, "good", "bad"), "--negative-labels", "drop"]) == 1
    assert "--negative-labels does not apply to a run" in capsys.readouterr().err
    assert main([*words(folder, "good", "bad"), "--paper-tests"]) == 1
    assert "give one by --baseline" in capsys.readouterr().err
    assert main([*words(folder, "good", "good")]) == 1
    assert "a label of its own" in capsys.readouterr().err
    assert main([*words(folder, "good", "bad"), "--baseline", "x"]) == 1
    assert "'x' is none of good, bad" in capsys.readouterr().err


def test_labels():
    assert runs_among(["run:a/x.run", "new=run:y=z.run"]) == {"x": "a/x.run", "new": "y=z.run"}
    assert runs_among(["lambdamart:n_estimators=3"]) == {}


def test_options_name_the_columns_of_judgments(folder, tmp_path, capsys):
    lines = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    rows = "".join(f"{query},{document},{grade}\n" for query, _, document, grade in lines)
    judged = tmp_path / "judged.csv"
    judged.write_text("search,sku,stars\n" + rows)
    compared = words(folder, "good", "bad")
    assert main([*compared, "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)["results"]
    compared[1] = str(judged)
    assert main([*compared, "--query", "search", "--label", "stars"]) == 1
    assert "no column of the document" in (said := capsys.readouterr().err)
    assert said.endswith("name it with --doc-id\n")
    named = ["--query", "search", "--label", "stars", "--doc-id", "sku"]
    assert main([*compared, *named, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert [{**result, "data": "qrels"} for result in found] == expected


def test_tables_of_runs_have_no_empty_columns(folder, capsys):
    assert main([*words(folder, "good", "bad"), "--table-format", "markdown"]) == 0
    (header,) = (line for line in capsys.readouterr().out.splitlines() if "| ranker" in line)
    assert header == "| ranker | ndcg@5 | map |"
