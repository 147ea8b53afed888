"""Runs against judgments: partial rankings as trec_eval evaluates them."""

import json

import numpy as np
import pytest

from rankgrove import DataError
from rankgrove.cli.main import main
from rankgrove.logs import read_run
from rankgrove.metrics.registry import metric_class, metric_names
from rankgrove.metrics.runs import evaluate_run, match_run

METRICS = {"ndcg": "ndcg", "ndcg@5": "ndcg_cut_5", "map": "map", "p@5": "P_5", "mrr": "recip_rank",
           "recall@5": "recall_5", "map@5": "map_cut_5"}  # fmt: skip
PARTIAL_RANKINGS = [name for name in metric_names() if metric_class(name).partial_rankings]


def random_files(folder, seed):
    """Write qrels and a run that overlap in part: ties, unjudged and unretrieved documents."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for query in map(str, range(12)):
        documents = [f"d{i:02}" for i in range(rng.integers(1, 15))]
        qrels[query] = {d: int(rng.integers(-1, 4)) for d in documents if rng.random() < 0.7}
        run[query] = {d: float(rng.integers(0, 6)) for d in documents if rng.random() < 0.6}
    qrels["0"] = {"d00": 1, "d01": 0}
    run["0"] = {"d99": 1.0}  # nothing judged was retrieved
    qrels = {query: graded for query, graded in qrels.items() if graded}
    run = {query: scored for query, scored in run.items() if scored}
    (folder / "qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, graded in qrels.items() for d, g in graded.items())
    )
    (folder / "a.run").write_text(
        "".join(f"{q} Q0 {d} 0 {s} tag\n" for q, scored in run.items() for d, s in scored.items())
    )
    return qrels, run


@pytest.mark.parametrize("seed", range(6))
def test_runs_have_the_values_of_trec_eval(tmp_path, seed):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = random_files(tmp_path, seed)
    measures = {"ndcg", "ndcg_cut", "map", "P", "recip_rank", "recall", "map_cut"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    ours = evaluate_run(
        tmp_path / "qrels.txt",
        tmp_path / "a.run",
        metrics=list(METRICS),
        preset="trec",
        absent_queries="skip",
    )
    assert set(ours.query_ids.tolist()) == set(theirs)
    for i, name in enumerate(METRICS.values()):
        expected = [theirs[query][name] for query in ours.query_ids.tolist()]
        np.testing.assert_allclose(ours.per_query[i], expected, rtol=0, atol=1e-9)


def test_a_query_that_the_run_lacks_counts_zero_unless_it_is_left_out(tmp_path):
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n2 0 a 1\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.0 t\n3 Q0 a 1 2.0 t\n")
    paths = (tmp_path / "qrels.txt", tmp_path / "a.run")
    assert evaluate_run(*paths, metrics="ndcg")["ndcg"] == 0.5
    assert evaluate_run(*paths, metrics="ndcg", absent_queries="skip")["ndcg"] == 1
    with pytest.raises(DataError, match="lacks 1 of 2 judged queries, such as '2'"):
        evaluate_run(*paths, absent_queries="error")
    counts = match_run(*paths).counts
    assert counts["judged queries that the run lacks"] == 1
    assert counts["queries of the run without judgments"] == 1


def test_negative_grades_count_as_not_relevant_and_are_counted(tmp_path, capsys):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text("1 0 a -1\n1 0 b 2\n")
    run.write_text("1 Q0 a 1 7.5 t\n1 Q0 b 2 5 t\n")
    assert main(["evaluate", str(run), str(qrels), "--preset", "trec", "--metric", "ndcg@10"]) == 0
    shown = capsys.readouterr().out
    assert "0.630930" in shown
    assert "negative grades, which count as not relevant: 1" in shown


@pytest.mark.parametrize("line", ["1 Q0 a 1 7.5", "1 Q0 a x 7.5 t"])
def test_scores_beside_qrels_are_a_run_whatever_is_wrong_with_it(tmp_path, capsys, line):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text("1 0 a 2\n1 0 b 0\n")
    run.write_text(f"{line}\n1 Q0 b 2 6 t\n")
    assert main(["evaluate", str(run), str(qrels), "--preset", "trec"]) == 1
    assert f"{run}: this is no known format of runs" in capsys.readouterr().err


def test_options_of_reading_rows_are_refused_for_runs(tmp_path, capsys):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text("1 0 a 2\n")
    run.write_text("1 Q0 a 1 7.5 t\n")
    assert main(["evaluate", str(run), str(qrels), "--negative-labels", "keep"]) == 1
    assert "--negative-labels does not apply to a run" in capsys.readouterr().err


def test_judgments_without_a_grade_are_counted(tmp_path, capsys):
    qrels, run = tmp_path / "judged.csv", tmp_path / "a.run"
    qrels.write_text("query,document,grade\n1,a,1\n1,b,\n")
    run.write_text("1 Q0 a 1 2.0 t\n")
    assert match_run(qrels, run).counts["judgments without a grade"] == 1
    assert main(["evaluate", str(run), str(qrels), "--metric", "ndcg"]) == 0
    assert "judgments without a grade: 1" in capsys.readouterr().out


@pytest.mark.parametrize("rule", ["average", "input", "best", "worst"])
@pytest.mark.parametrize("name", PARTIAL_RANKINGS)
def test_a_document_that_was_not_retrieved_adds_nothing(tmp_path, rule, name):
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "found.run").write_text("1 Q0 b 1 1.0 t\n")
    value = evaluate_run(
        tmp_path / "qrels.txt", tmp_path / "found.run", metrics=f"{name}(ties={rule})"
    )
    assert value.means[0] == 0


def test_the_command_evaluates_a_run(tmp_path, capsys):
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.0 t\n1 Q0 z 2 1.0 t\n")
    run, qrels = str(tmp_path / "a.run"), str(tmp_path / "qrels.txt")
    assert main(["evaluate", run, qrels, "--metric", "ndcg@10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "queries": 2,
        "rows": 4,
        "counts": {
            "judged queries that the run lacks": 1,
            "retrieved documents without a judgment": 1,
            "judged documents that the run lacks": 2,
        },
        "metrics": {"ndcg@10": 0.5},
        "counting_queries": {"ndcg@10": 2},
    }
    command = ["evaluate", run, qrels, "--metric", "ndcg@10", "--absent-queries", "skip"]
    assert main(command) == 0
    assert "1.000000" in capsys.readouterr().out


def test_metrics_of_whole_orders_are_refused(tmp_path):
    with pytest.raises(ValueError, match="tau needs a score of every judged document"):
        evaluate_run("qrels.txt", "a.run", metrics=["ndcg", "tau"])


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("1 Q0 a 1 2.0 t\n1 Q0 a 2 1.0 t\n", "'a' of the query '1' occurs 2 times"),
        ("1 Q0 a 1 2.0 t\n1 Q0 b 2 nan t\n", "line 2: the score 'nan' is not a finite number"),
        ("1 Q0 a 1 2.0 t\n1 Q0 b 2 1_0 t\n", "line 2: the score '1_0' is not a finite number"),
        ("1 Q0 a 1 2.0 t\n1 Q0 b\n", "line 2: '1 Q0 b' is not 'TOPIC Q0 DOCUMENT"),
        ("9 Q0 a 1 2.0 t\n", r"no query of .*a.run \(such as '9'\) is judged in"),
    ],
)
def test_bad_runs_are_refused(tmp_path, run, message):
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    (tmp_path / "a.run").write_text(run)
    with pytest.raises(DataError, match=message):
        evaluate_run(tmp_path / "qrels.txt", tmp_path / "a.run")


def test_a_table_of_scores_is_a_run(tmp_path):
    (tmp_path / "scores.csv").write_text("qid,doc_id,score\n1,a,2.5\n1,b,1\n")
    assert read_run(tmp_path / "scores.csv").table.to_pylist() == [
        {"query": "1", "document": "a", "score": 2.5},
        {"query": "1", "document": "b", "score": 1.0},
    ]
