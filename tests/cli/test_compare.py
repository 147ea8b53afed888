"""``rankgrove compare``."""

from __future__ import annotations

import json

import pytest

import rankgrove as library
from rankgrove.data.writing import write_letor
from rankgrove.datasets import make_ranking

QUICK = ("--ranker", "lambdamart:n_estimators=3", "--ranker", "rf-point:n_estimators=3")


@pytest.fixture
def folder(tmp_path):
    """A folder of one train, vali and test file, and a file."""
    data = make_ranking(36, docs_per_query=8, n_features=10, seed=1)
    for place, name in enumerate(("train", "vali", "test")):
        part = data.select_queries(range(12 * place, 12 * place + 12))
        (tmp_path / "judged").mkdir(exist_ok=True)
        write_letor(part, tmp_path / "judged" / f"{name}.txt")
    write_letor(data, tmp_path / "all.txt")
    return tmp_path


def test_a_folder_gives_a_table_a_store_and_a_model(rankgrove, folder):
    run = rankgrove(
        *("compare", "judged", *QUICK, "--metric", "ndcg@5", "--metric", "map"),
        *("--baseline", "rf-point", "--preset", "letor4", "--save-best", "best.rg"),
    )
    assert run.returncode == 0, run.stderr
    assert "12 test queries in 1 fold" in run.stdout
    assert "share a letter do not differ significantly" in run.stdout
    assert "win/tie/loss" in run.stdout
    assert (folder / "results" / "study.sqlite").is_file()
    best = library.load_model(folder / "best.rg")
    assert best.ranker_name in ("lambdamart", "rf-point")
    assert best.provenance_["data"]["queries"] == 12
    assert [name[:6] for name in best.provenance_["validation"]] == ["ndcg@5"]
    told = rankgrove("info", "best.rg")
    assert told.returncode == 0, told.stderr
    grades = best.provenance_["data"]["grades"]
    words = ", ".join(f"{grade}: {count}" for grade, count in grades.items())
    assert f"grades ({words})" in " ".join(told.stdout.split())
    assert best.provenance_["data"]["digest"] in told.stdout


def test_a_best_that_cannot_be_saved_costs_no_table(rankgrove, folder):
    run = rankgrove(
        *("compare", "all.txt", "--folds", 3, "--ranker", "random", "--save-best", "best.rg"),
        *("--ranker", "sklearn:RandomForestRegressor:n_estimators=20"),
    )
    assert run.returncode == 1
    assert "the best is sklearn:RandomForestRegressor, which rankgrove cannot save" in run.stderr
    assert "share a letter" in run.stdout
    assert not (folder / "best.rg").exists()


def test_a_ranker_that_fails_beside_others_ends_in_exit_code_1(rankgrove, folder):
    run = rankgrove(
        *("compare", "all.txt", "--folds", 3, "--ranker", "random"),
        *("--ranker", "rf-list:sampling=bootstrap"),
    )
    assert run.returncode == 1
    assert "rf-list has no result on all: " in run.stderr
    assert "random" in run.stdout


def test_json_and_other_formats(rankgrove, folder):
    command = ("compare", "all.txt", *QUICK, "--folds", 3, "--repeats", 2, "--out", "r")
    found = json.loads(rankgrove(*command, "--json").stdout)
    assert [row["ranker"] for row in found["results"]]
    assert len(found["folds"]) == 6
    assert rankgrove(*command, "--table-format", "latex").stdout.startswith(r"\begin{table}")
    assert rankgrove(*command, "--table-format", "markdown", "--by-fold").stdout.count("|:---") == 2


def test_a_study_file_says_it_all(rankgrove, folder):
    (folder / "study.toml").write_text(
        'data = ["all.txt"]\nfolds = 3\nmetrics = ["ndcg@5"]\nbaseline = "small"\n'
        '[[ranker]]\nuse = "mart"\nlabel = "small"\nn_estimators = 2\n'
        '[[ranker]]\nuse = "mart"\nlabel = "grid"\nn_estimators = [3, 4]\n'
    )
    first, second = (
        json.loads(rankgrove("compare", "--study", "study.toml", "--out", out, "--json").stdout)
        for out in ("one", "two")
    )
    for found in (first, second):
        for row in (*found["results"], *found["folds"]):
            for cost in ("fit_seconds", "score_microseconds", "peak_memory"):
                row.pop(cost, None)
    assert first == second
    assert {row["ranker"] for row in first["results"]} == {"small", "grid"}


def test_the_study_of_missing_values(folder):
    from rankgrove.experiments.study import read_study_file

    specs = read_study_file("missing")["rankers"]
    policies = ("zero", "mean", "median", "inf", "keep", "branch")
    assert [(spec.label, spec.settings) for spec in specs] == [
        (f"{kind}, {policy}", ({"missing": policy},))
        for kind in ("forest", "boosting")
        for policy in policies
    ]


def test_the_study_of_the_rcrank_paper(rankgrove, folder):
    run = rankgrove("compare", "judged", "--study", "rcrank", "--label-shift", 1, *QUICK, "--json")
    found = json.loads(run.stdout)  # rankers given here win
    assert found["study"]["metrics"] == ["ndcg@10"]
    assert found["study"]["data"][0]["label_shift"] == 1
    from rankgrove.experiments.study import read_study_file

    specs = read_study_file("rcrank")["rankers"]
    assert [len(spec.settings) for spec in specs] == [20, 20]
    assert all(setting["metric"] == "ndcg@10" for spec in specs for setting in spec.settings)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ranker", "mart"], "there is no DATA"),
        (["all.txt"], "there is no ranker"),
        (["all.txt", "--ranker", "mrt"], "did you mean 'mart'"),
        (["all.txt", "--study", "nonsense"], "unknown study 'nonsense'"),
        (["absent.txt", "--ranker", "mart"], "absent.txt"),
        (["all.txt", "--ranker", "mart", "--save-best", "no/where.rg"], "no folder"),
        (
            ["all.txt", "--ranker", "rf-list:sampling=bootstrap"],
            "(--retry runs failed fits once more)",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(rankgrove, folder, arguments, message):
    run = rankgrove("compare", *arguments)
    assert run.returncode == 1
    assert message in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_a_bad_study_file_is_named(rankgrove, folder):
    (folder / "bad.toml").write_text('data = "all.txt"\nrankers = 3\n')
    run = rankgrove("compare", "--study", "bad.toml")
    assert "bad.toml: unknown key 'rankers': did you mean 'ranker'?" in run.stderr
    (folder / "bad.toml").write_text("data = [\n")
    assert "bad.toml" in rankgrove("compare", "--study", "bad.toml").stderr
