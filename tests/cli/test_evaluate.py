"""``rankgrove evaluate``."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest

from rankgrove import evaluate
from rankgrove.cli.main import main

LABELS = [2, 0, 1, 0, 0]
QUERIES = ["a", "a", "b", "a", "c"]
SCORES = [0.1, 0.5, 0.2, 0.3, 0.0]


def test_json_equals_python(rankgrove, data_file, score_file):
    run = rankgrove("evaluate", score_file, data_file, "--metric", "ndcg@2", "map", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    expected = evaluate(LABELS, SCORES, qid=QUERIES, metrics=["ndcg@2", "map"])
    assert json.loads(run.stdout)["metrics"] == pytest.approx(expected.to_dict())


def test_table_of_default_metrics(rankgrove, data_file, score_file):
    run = rankgrove("evaluate", score_file, data_file)
    assert run.returncode == 0
    assert all(name in run.stdout for name in ("ndcg@1", "ndcg@10", "map", "mrr", "3 queries"))


def test_the_table_says_how_many_queries_were_skipped(rankgrove, data_file, score_file):
    metrics = ("--metric", "ndcg@2(empty=skip)", "map")
    run = rankgrove("evaluate", score_file, data_file, *metrics)
    skipped, counted = (line.split() for line in run.stdout.splitlines() if " of 3" in line)
    assert skipped[2:] == ["skip", "2", "of", "3"]
    assert counted[3:] == ["3", "of", "3"]
    run = rankgrove("evaluate", score_file, data_file, *metrics, "--json")
    assert json.loads(run.stdout)["counting_queries"] == {"ndcg@2(empty=skip)": 2, "map": 3}


def test_preset_decides(rankgrove, data_file, score_file):
    def value(*preset):
        run = rankgrove("evaluate", score_file, data_file, "--metric", "ndcg@1", "--json", *preset)
        (result,) = json.loads(run.stdout)["metrics"].values()
        return result

    # Query c has no relevant document: LightGBM counts it as 1.
    assert value("--preset", "lightgbm") == pytest.approx(value() + 1 / 3)


@pytest.mark.parametrize("kind", ["npy", "gz", "stdin"])
def test_scores_from_other_places(rankgrove, data_file, score_file, tmp_path, kind):
    source, text = tmp_path / f"scores.{kind}", None
    if kind == "npy":
        np.save(source, np.array(SCORES, np.float32))
    elif kind == "gz":
        np.savetxt(tmp_path / "scores.gz", SCORES)
    else:
        source, text = "-", "\n".join(map(str, SCORES))
    run = rankgrove("evaluate", source, data_file, "--json", input=text)
    assert run.returncode == 0, run.stderr
    assert run.stdout == rankgrove("evaluate", score_file, data_file, "--json").stdout


def test_per_query_file(rankgrove, data_file, score_file, tmp_path):
    run = rankgrove(
        "evaluate", score_file, data_file, "--metric", "mrr", "--per-query", "values.csv"
    )
    assert run.returncode == 0
    rows = list(csv.DictReader((tmp_path / "values.csv").open()))
    assert [(row["qid"], row["documents"], float(row["mrr"])) for row in rows] == [
        ("a", "3", pytest.approx(1 / 3)),
        ("b", "1", 1.0),
        ("c", "1", 0.0),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\n2\n3\n", "has 3 scores, but the data has 5 rows"),
        ("score\n1\n2\n3\n4\n5\n", "scores.txt, line 1: 'score' is not one number"),
        ("1\n2\nthree\n4\n5\n", "scores.txt, line 3: 'three' is not one number"),
        ("1\n2\n3 4\n4\n5\n", "line 3: '3 4' is not one number"),
        ("1\n2\n3\n1_0\n5\n", "line 4: '1_0' is not one number"),
        ("1\n2\nnan\n4\n5\n", "score 3 is nan"),
        ("", "has 0 scores"),
    ],
)
def test_bad_scores_are_named(rankgrove, data_file, tmp_path, content, message):
    (tmp_path / "scores.txt").write_text(content)
    run = rankgrove("evaluate", "scores.txt", data_file)
    assert run.returncode == 1
    assert message in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("name", ["scores.npy", "scores.txt.gz"])
def test_damaged_binary_scores_are_named(rankgrove, data_file, tmp_path, name):
    (tmp_path / name).write_bytes(b"\x1f\x8b\x08\x00 rubbish")
    run = rankgrove("evaluate", name, data_file)
    assert run.returncode == 1
    assert name in run.stderr
    assert "Traceback" not in run.stderr


def test_scores_of_rows_that_are_dropped_are_dropped_with_them(rankgrove, tmp_path):
    (tmp_path / "part.txt").write_text("-1 qid:1 1:1\n0 qid:1 1:2\n1 qid:1 1:3\n")
    (tmp_path / "scores.txt").write_text("9\n1\n2\n")
    options = ("--negative-labels", "drop", "--metric", "mrr", "--json")
    run = rankgrove("evaluate", "scores.txt", "part.txt", *options)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["queries"], found["rows"], found["metrics"]) == (1, 2, {"mrr": 1.0})


def test_metrics_of_the_whole_order(rankgrove, data_file, score_file):
    names = ["spearman", "ic", "pair-accuracy"]
    run = rankgrove("evaluate", score_file, data_file, "--metric", *names, "--json")
    assert (run.returncode, run.stderr) == (0, "")
    expected = evaluate(LABELS, SCORES, qid=QUERIES, metrics=names)
    assert json.loads(run.stdout)["metrics"] == pytest.approx(expected.to_dict())


def test_a_run_is_measured_against_the_data_that_it_was_made_from(rankgrove, tmp_path):
    text, run = tmp_path / "test.txt", tmp_path / "scores.csv"
    text.write_text(
        "".join(
            f"{label} qid:{query} 1:0.5 #docid = d{row}\n"
            for row, (label, query) in enumerate(zip(LABELS, QUERIES, strict=True))
        )
    )
    run.write_text(
        "qid,doc_id,score\n"
        + "".join(
            f"{query},d{row},{score}\n"
            for row, (query, score) in enumerate(zip(QUERIES, SCORES, strict=True))
        )
    )
    expected = evaluate(LABELS, SCORES, qid=QUERIES, metrics=["ndcg@2", "map"])
    found = rankgrove("evaluate", run, text, "--metric", "ndcg@2", "map", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["metrics"] == pytest.approx(expected.to_dict())
    text.write_text("2 qid:1 1:0.5\n")
    found = rankgrove("evaluate", run, text)
    assert found.returncode == 1
    assert "documents have no ids" in found.stderr


def test_options_name_the_columns_of_judgments_beside_a_run(rankgrove, tmp_path):
    judged, run = tmp_path / "judged.csv", tmp_path / "scores.csv"
    judged.write_text("search term,sku,stars\na b,x,2\na b,y,0\n")
    run.write_text("query,document,score\na b,x,1\na b,y,2\n")
    names = ("--query", "search term", "--label", "stars", "--doc-id", "sku")
    found = rankgrove("evaluate", run, judged, *names, "--metric", "mrr", "--json")
    assert json.loads(found.stdout)["metrics"]["mrr"] == 0.5
    found = rankgrove("evaluate", run, judged, *names[:2])
    assert found.stderr.rstrip().endswith("name it with --label")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_scores_without_documents_are_rows_of_the_data(rankgrove, tmp_path, suffix):
    """``predict`` writes such tables for data without document ids."""
    frame = pd.DataFrame({"qid": QUERIES, "score": SCORES})
    judged, scores = tmp_path / "judged.csv", tmp_path / f"scores{suffix}"
    pd.DataFrame({"label": LABELS, "query": QUERIES, "f": 1.0}).to_csv(judged, index=False)

    def write(frame):
        if suffix == ".parquet":
            frame.to_parquet(scores)
        else:
            frame.to_csv(scores, index=False, sep="\t" if suffix == ".tsv" else ",")

    write(frame)
    expected = evaluate(LABELS, SCORES, qid=QUERIES, metrics=["ndcg@2", "map"])
    found = rankgrove("evaluate", scores, judged, "--metric", "ndcg@2", "map", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["metrics"] == pytest.approx(expected.to_dict())
    write(frame.iloc[::-1])
    found = rankgrove("evaluate", scores, judged)
    assert found.returncode == 1
    assert "scores without documents must have their order" in found.stderr
    write(frame.iloc[1:])
    assert (
        f"has {len(SCORES) - 1} scores, but the data has"
        in rankgrove("evaluate", scores, judged).stderr
    )


def test_data_in_the_place_of_scores_are_called_so(rankgrove, tmp_path):
    (tmp_path / "test.txt").write_text("2 qid:1 1:0.5\n0 qid:1 1:1\n")
    (tmp_path / "scores.txt").write_text("0.5\n1\n")
    found = rankgrove("evaluate", "test.txt", "scores.txt")
    assert found.returncode == 1
    assert "test.txt holds judged data, not scores: the scores come first" in found.stderr


def test_judgments_in_the_place_of_scores_are_told(tmp_path, capsys):
    (tmp_path / "qrels.txt").write_text("1 0 a 2\n1 0 b 0\n")
    (tmp_path / "bm25.run").write_text("1 Q0 a 1 7.5 bm25\n")
    (tmp_path / "judged.csv").write_text("query,document,grade\n1,a,2\n")
    for swapped in ("qrels.txt", "judged.csv"):
        assert main(["evaluate", str(tmp_path / swapped), str(tmp_path / "bm25.run")]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"rankgrove evaluate: {tmp_path / swapped}")
        assert "the scores come first" in said


def test_an_unknown_metric_says_how_to_import_one(capsys):
    with pytest.raises(SystemExit):
        main(["evaluate", "scores.txt", "data.txt", "--metric", "found"])
    said = capsys.readouterr().err
    assert said.endswith("the module that registers it is imported (--import MODULE)\n")


def test_a_metric_that_is_named_twice_is_one_column(rankgrove, data_file, score_file, tmp_path):
    names = ("ndcg@2", "NDCG@2", "ndcg@2(gain=exp)", "map")
    assert (
        rankgrove(
            "evaluate", score_file, data_file, "--metric", *names, "--per-query", "q.csv"
        ).stdout.count("ndcg@2")
        == 1
    )
    assert (tmp_path / "q.csv").read_text().startswith("qid,documents,ndcg@2,map\n")
