"""``rankgrove explain`` and ``rankgrove show`` on real files."""

from __future__ import annotations

import json
import warnings
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import rankgrove
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking

NAMES = [f"col [{j}] <&>" for j in range(6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a table with document ids, and a model of it."""
    path = tmp_path_factory.mktemp("explain")
    data = make_ranking(12, n_features=6, seed=1)
    X = data.X.copy()
    X[::5, 1] = np.nan
    frame = pd.DataFrame(X, columns=NAMES)
    frame["label"], frame["qid"] = data.y, [f"q{q}" for q in data.qid]
    frame["doc_id"] = [f"d{i}" for i in range(len(frame))]
    frame.to_parquet(path / "data.parquet")
    shuffled = [*NAMES[::-1], "label", "qid", "doc_id"]
    frame[shuffled].to_csv(path / "shuffled.csv", index=False)
    dataset = rankgrove.load(path / "data.parquet")
    rankgrove.LambdaMART(n_estimators=10, max_leaf_nodes=6, min_samples_leaf=5, random_state=0).fit(
        dataset
    ).save(path / "model.rg")
    rankgrove.RFPair(n_estimators=2, random_state=0).fit(dataset).save(path / "pairs.rg")
    return path


@pytest.fixture
def explain(folder, capsys, tmp_path, monkeypatch):
    """Run the command line in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main replaces it

    def run(*arguments, data="data.parquet", model="model.rg", verb="explain"):
        files = [folder / model] + ([] if data is None else [folder / data])
        capsys.readouterr()
        code = main([verb, *map(str, [*files, *arguments])])
        return SimpleNamespace(returncode=code, **capsys.readouterr()._asdict())

    return run


def answer(process) -> dict:
    assert process.returncode == 0, process.err
    return json.loads(process.out)


def test_importances_of_a_model_are_sorted(explain, folder):
    found = answer(explain("--json", data=None))["features"]
    gains = [row["gain"] for row in found]
    assert gains == sorted(gains, reverse=True)
    assert sorted(row["feature"] for row in found) == sorted(NAMES)
    model = rankgrove.load_model(folder / "model.rg")
    assert gains == sorted(model.importances("gain").tolist(), reverse=True)
    assert NAMES[0] in explain(data=None).out


def test_two_documents_are_compared(explain, folder):
    found = answer(explain("--query-id", "q2", "--document", "@1", "--above", "@2", "--json"))
    data = rankgrove.load(folder / "data.parquet")
    model = rankgrove.load_model(folder / "model.rg")
    rows = np.flatnonzero(data.qid == "q2")
    best = rows[np.argsort(-model.predict(data)[rows], kind="stable")]
    assert found["first"]["document"] == data.doc_ids[best[0]]
    assert found["first"]["score"] == pytest.approx(model.predict(data)[best[0]])
    total = sum(row["effect"] for row in found["differences"])
    assert total == pytest.approx(found["first"]["score"] - found["second"]["score"])
    text = explain("--query-id", "q2", "--document", data.doc_ids[best[0]], "--above", "@2").out
    assert "ranks above" in text
    assert NAMES[1] in text


def test_columns_of_a_table_are_matched_by_name(explain):
    question = ("--query-id", "q3", "--document", "@1", "--json")
    assert answer(explain(*question)) == answer(explain(*question, data="shuffled.csv"))


def test_what_carries_the_top_of_a_list(explain):
    found = answer(explain("--query-id", "q4", "--top", "2", "--json"))
    scores = [document["score"] for document in found["documents"]]
    assert scores == sorted(scores, reverse=True)
    lead = np.mean(scores[:2]) - np.mean(scores)
    assert sum(row["effect"] for row in found["effects"]) == pytest.approx(lead)
    assert "what raises the first 2" in explain("--query-id", "q4", "--top", "2").out


def test_permutation_reads_absent_features_as_the_training_data_were(explain, folder):
    lines = [
        f"{grade} qid:{query} 1:{value}" + (f" 2:{value - grade}" if value % 3 else "") + "\n"
        for query in range(20)
        for value, grade in enumerate([0, 2, 1, 0, 2, 1, 1])
    ]
    (folder / "absent.txt").write_text("".join(lines))
    data = rankgrove.load(folder / "absent.txt", absent="missing")
    ranker = rankgrove.MART(n_estimators=5, min_samples_leaf=2, random_state=0).fit(data)
    ranker.save(folder / "absent.rg")
    run = explain("--permutation", "--json", data="absent.txt", model="absent.rg")
    losses = ranker.importances("permutation", data, metric="ndcg@10", random_state=0)
    found = [row["loss"] for row in answer(run)["features"]]
    assert found == sorted(losses.tolist(), reverse=True)


def test_other_questions_are_answered(explain):
    assert len(answer(explain("--json"))["features"]) == 6
    losses = answer(explain("--permutation", "--shuffles", "2", "--json"))["features"]
    assert {row["feature"] for row in losses} == set(NAMES)
    assert "and 4 more" in explain("--permutation", "--show", "2").out
    assert answer(explain("--interactions", "--json"))["features"][0]["effect"] > 0
    found = answer(explain("--dependence", NAMES[0], "--json"))
    assert len(found["values"]) == len(found["grids"][0])
    found = answer(explain("--dependence", NAMES[0], NAMES[2], "--json"))
    assert 0 <= found["interaction"] <= 1
    assert "share of the joint effect" in explain("--dependence", NAMES[0], NAMES[2]).out


@pytest.mark.parametrize(
    "question",
    [
        (),
        ("--query-id", "q1"),
        ("--query-id", "q1", "--document", "@2"),
        ("--query-id", "q1", "--document", "@2", "--above", "@1"),
        ("--dependence", NAMES[3]),
    ],
    ids=lambda question: "".join(question[:1]) + str(len(question)),
)
@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_pictures_are_drawn(explain, question, suffix, tmp_path):
    path = tmp_path / f"picture.{suffix}"
    assert explain(*question, "--out", path).returncode == 0
    text = path.read_text()
    svg = text[text.index("<svg") : text.index("</svg>") + 6]
    shapes = ElementTree.fromstring(svg)
    assert len(shapes) > 5
    if question[:1] != ("--query-id",):
        assert any("[3] <&>" in (shape.text or "") for shape in shapes.iter())


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (("--query-id", "nobody"), "there is no query 'nobody' among 12"),
        (("--query-id", "q1", "--document", "nothing"), "no document 'nothing' of query q1"),
        (("--query-id", "q1", "--document", "@99"), "rank of query q1"),
        (("--query-id", "q1", "--above", "@1"), "--above needs --document"),
        (("--document", "@1"), "--document needs --query-id"),
        (("--query-id", "q1", "--permutation"), "one of --query-id and --permutation at a time"),
        (("--dependence", "nothing"), "no feature 'nothing'"),
        (("--query-id", "q1", "--top", "0"), "--top must be at least 1, not 0"),
        (("--top", "2"), "--top has no effect but with --query-id alone"),
        (("--query-id", "q1", "--document", "@1", "--top", "2"), "--top has no effect"),
        (("--dependence", NAMES[0], "--show", "2"), "--show has no effect with --dependence"),
        (("--dependence", NAMES[0][1:]), f"did you mean {NAMES[0]!r}?"),
        (("--query-id", "q1", "--out", "picture.png"), "written as .svg or .html, not as"),
    ],
)
def test_bad_questions_are_refused(explain, question, message, tmp_path):
    process = explain(*question)
    assert process.returncode == 1
    assert message in process.err
    assert process.out == ""
    assert not (tmp_path / "picture.png").exists()


def test_a_question_about_data_needs_data(explain):
    process = explain("--query-id", "q1", data=None)
    assert process.returncode == 1
    assert "--query-id needs a data file" in process.err


def test_pairs_are_refused_by_name(explain):
    process = explain("--query-id", "q1", model="pairs.rg")
    assert process.returncode == 1
    assert "a model of the kind 'pairs' cannot tell what each feature contributes" in process.err
    assert explain("--permutation", "--shuffles", "1", model="pairs.rg").returncode == 0


def test_a_tree_is_shown(explain, folder, tmp_path):
    model = rankgrove.load_model(folder / "model.rg").model_.ensemble
    text = explain("--tree", "3", data=None, verb="show").out
    assert len(text.splitlines()) == np.diff(model.tree_offsets)[2]
    found = answer(explain("--tree", "3", "--depth", "1", "--json", data=None, verb="show"))
    assert found["count"] == model.count[model.tree_offsets[2]]
    assert len(found["children"]) == 2
    path = tmp_path / "tree.svg"
    assert explain("--out", path, data=None, verb="show").returncode == 0
    assert ElementTree.fromstring(path.read_text()).tag.endswith("svg")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tree", "0"), "no tree 0: the model has trees 1 to 10"),
        (("--tree", "11"), "no tree 11"),
        (("--depth", "-1"), "depth must be between 0 and 100, not -1"),
        (("--out", "tree.pdf"), "written as .svg or .html, not as"),
    ],
)
def test_trees_that_are_not_there_are_refused(explain, options, message):
    process = explain(*options, data=None, verb="show")
    assert process.returncode == 1
    assert message in process.err


def test_a_file_that_is_no_model_is_refused(explain):
    for verb in ("explain", "show"):
        process = explain(data=None, model="data.parquet", verb=verb)
        assert process.returncode == 1
        assert "data.parquet" in process.err


def test_the_command_runs(rankgrove, folder):
    process = rankgrove("explain", folder / "model.rg", "--show", "1")
    assert process.returncode == 0
    assert "and 5 more" in process.stdout
