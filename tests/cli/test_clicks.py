"""`rankgrove clicks`: impressions to judgments, and examination by position."""

import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from rankgrove.cli.main import main
from rankgrove.clicks import fit_click_model
from rankgrove.datasets import make_ranking, simulate_clicks
from rankgrove.errors import DataWarning


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    judged = make_ranking(20, preset="letor4", seed=7)
    options = {"top_k": 5, "exploration": 1.0, "ranker": judged.X[:, 1], "seed": 1}
    table = simulate_clicks(judged, n_sessions=3000, **options).drop(["row", "propensity"])
    path = tmp_path_factory.mktemp("log") / "impressions.csv"
    pyarrow.csv.write_csv(table, path)
    return str(path)


def test_judgments_are_those_of_the_click_model(log, tmp_path, capsys):
    out = str(tmp_path / "judgments.parquet")
    options = ["--model", "pbm", "--min-impressions", "5", "--out", out, "--json"]
    assert main(["clicks", log, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    want = fit_click_model(log, "pbm").judgments(min_impressions=5)
    assert pq.read_table(out).to_pydict() == want.to_pydict()
    assert found["judgments"] == want.num_rows
    assert found["judgments"] + found["left_out"] == found["pairs"]


def test_propensities_are_printed(log, capsys):
    assert main(["clicks", log, "--propensities", "rank-changes", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["propensities"]
    np.testing.assert_allclose(found["examination"], 1 / np.arange(1, 6), atol=0.1)
    assert main(["clicks", log, "--propensities", "rank-changes"]) == 0
    assert "examination" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give --out for judgments"),
        (["--propensities", "rank-changes", "--model", "pbm"], "--model has no effect without"),
    ],
)
def test_options_without_effect_are_refused(log, options, message, capsys):
    assert main(["clicks", log, *options]) == 1
    assert message in capsys.readouterr().err


def test_a_log_without_clicks_is_refused_and_writes_nothing(tmp_path, capsys):
    path, out = tmp_path / "log.csv", tmp_path / "judgments.csv"
    path.write_text("query,document,position,clicked,session\nq,a,1,0,s\nq,b,2,0,s\n")
    for options in (["--out", str(out)], ["--propensities", "rank-changes"]):
        assert main(["clicks", str(path), *options]) == 1
        assert "none of the 2 impressions was clicked" in capsys.readouterr().err
    assert not out.exists()


@pytest.fixture
def ubi(tmp_path):
    """A result list of two documents, a click on neither, and a list without its query."""
    shown = [("q1", "a", 0, "impression"), ("q1", "b", 1, "impression"), ("q1", "b", 1, "click")]
    lost = [("q1", "z", 9, "click"), ("q9", "a", 0, "impression")]
    lines = [json.dumps({"query_id": "q1", "user_query": "shoes"})]
    for query, document, ordinal, action in shown + lost:
        attributes = {"object": {"object_id": document}, "position": {"ordinal": ordinal}}
        event = {"query_id": query, "action_name": action, "event_attributes": attributes}
        lines.append(json.dumps(event))
    path = tmp_path / "ubi.ndjson"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_what_is_left_out_of_the_log_is_told(ubi, tmp_path, capsys):
    command = ["clicks", ubi, "--model", "ctr", "--out", str(tmp_path / "judgments.csv")]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["impressions"] == 2
    assert found["counts"] == {
        "impressions without the text of their query": 1,
        "clicks without an impression": 1,
    }
    assert main(command) == 0
    said = capsys.readouterr().out
    for reason in found["counts"]:
        assert reason in said


def test_a_model_of_a_file_tells_what_is_left_out_of_it(ubi):
    counts = "; impressions without the text of their query: 1; clicks without an impression: 1"
    with pytest.warns(DataWarning, match=counts):
        fit_click_model(ubi, "ctr")


def test_a_log_of_clicks_alone_is_told(tmp_path, capsys):
    path, out = tmp_path / "log.csv", tmp_path / "judgments.csv"
    path.write_text("query,document,position,clicked,session\nq,a,1,1,s\nq,b,2,1,s\n")
    assert main(["clicks", str(path), "--out", str(out)]) == 0
    assert "all 2 impressions were clicked" in capsys.readouterr().err


def test_more_impressions_than_any_pair_has_are_refused(log, tmp_path, capsys):
    out = tmp_path / "judgments.csv"
    assert main(["clicks", log, "--min-impressions", "100000", "--out", str(out)]) == 1
    assert "was shown --min-impressions 100000 times: the most" in capsys.readouterr().err
    assert not out.exists()


@pytest.fixture
def renamed(log, tmp_path):
    table = pyarrow.csv.read_csv(log).select(_COLUMNS)
    path = tmp_path / "renamed.csv"
    pyarrow.csv.write_csv(table.rename_columns(["words", "item", "slot", "bought", "visit"]), path)
    return str(path)


_COLUMNS = ["query", "document", "position", "clicked", "session"]
_OPTIONS = [
    *("--impression-query", "words", "--impression-document", "item"),
    *("--impression-position", "slot", "--impression-clicked", "bought"),
    *("--impression-session", "visit"),
]


def test_columns_of_other_names_are_named_by_options(log, renamed, tmp_path, capsys):
    usual, other = str(tmp_path / "usual.parquet"), str(tmp_path / "other.parquet")
    assert main(["clicks", log, "--out", usual]) == 0
    assert main(["clicks", renamed, *_OPTIONS, "--out", other]) == 0
    assert pq.read_table(other) == pq.read_table(usual)


@pytest.mark.parametrize("i", range(4))
def test_a_column_that_is_not_found_is_asked_for_by_its_option(i, renamed, tmp_path, capsys):
    options = _OPTIONS[: 2 * i] + _OPTIONS[2 * i + 2 :]
    assert main(["clicks", renamed, *options, "--out", str(tmp_path / "j.csv")]) == 1
    message = capsys.readouterr().err
    assert f"name it with {_OPTIONS[2 * i]}" in message
    assert f"{_COLUMNS[i]}=" not in message


def test_a_named_column_that_is_absent_and_an_option_of_another_format(log, tmp_path, capsys):
    out = str(tmp_path / "j.csv")
    assert main(["clicks", log, "--impression-session", "sesion", "--out", out]) == 1
    assert "there is no column 'sesion' (did you mean 'session'?)" in capsys.readouterr().err
    assert main(["clicks", log, "--impression-click-actions", "buy", "--out", out]) == 1
    message = capsys.readouterr().err
    assert "--impression-click-actions does not apply to this format" in message
    assert "--impression-position" in message


def test_a_query_shown_twice_asks_for_the_column_of_result_lists(tmp_path, capsys):
    """Without a session each query is one result list."""
    path = tmp_path / "log.csv"
    path.write_text("query,document,position,clicked\nq,a,1,1\nq,b,1,0\n")
    assert main(["clicks", str(path), "--out", str(tmp_path / "out.csv")]) == 1
    said = capsys.readouterr().err
    assert "name the column that tells result lists apart with --impression-session" in said


def test_the_advice_about_positions_without_clicks_works(tmp_path, capsys):
    rows = ["query,document,position,clicked,session"]
    for session in range(6):
        shown = ["a", "b"] if session % 2 else ["b", "a"]
        for place, document in enumerate([*shown, "c", "d"], 1):
            clicked = int(place == 1 + session % 3 // 2)
            rows.append(f"shoes,{document},{place},{clicked},s{session}")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    command = ["clicks", str(path), "--propensities", "random-lists"]
    assert main(command) == 1
    advice = capsys.readouterr().err.rstrip().rpartition("log: ")[2].removesuffix(")")
    assert advice == "--max-position 2"
    assert main([*command, *advice.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["impressions"] == 12
    assert found["counts"] == {"impressions behind position 2": 12}
    assert main([*command, "--max-position", "0"]) == 1
