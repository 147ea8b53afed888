"""The join of judgments and features, beside a dictionary."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgrove
from rankgrove import DataError
from rankgrove.logs import LogTable, join

PAIRS = st.tuples(st.sampled_from("pqr"), st.sampled_from("abc"))


def log(kind, rows, names):
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    types = [pa.large_string()] * 2 + [pa.float64()] * (len(names) - 2)
    arrays = [pa.array(column, type) for column, type in zip(columns, types, strict=True)]
    from collections import Counter

    return LogTable(kind, pa.table(arrays, names=names), Counter(), kind)


@given(
    st.lists(st.tuples(PAIRS, st.integers(0, 2)), min_size=1, max_size=12),
    st.lists(st.tuples(PAIRS, st.integers(0, 2)), min_size=1, max_size=12),
    st.sampled_from(["first", "last"]),
    st.sampled_from([None, 0.0]),
)
def test_join_is_the_join_of_dictionaries(judged, logged, rule, unjudged):
    judgments = log("judgments", [(*k, v) for k, v in judged], ["query", "document", "grade"])
    features = log("features", [(*k, v) for k, v in logged], ["query", "document", "x"])
    grades: dict = {}
    for key, grade in judged:
        grades.setdefault(key, []).append(grade)
    values: dict = {}
    for key, value in logged:
        if rule == "last" or key not in values:
            values[key] = value
    expected = {
        key: (np.mean(grades[key]) if key in grades else unjudged, value)
        for key, value in values.items()
        if key in grades or unjudged is not None
    }
    options = {"repeated_features": rule, "unjudged": unjudged, "min_matched": 0}
    if not grades.keys() & values.keys():
        with pytest.raises(DataError, match="no judgment of judgments has features"):
            join(judgments, features, **options)
        return
    joined = join(judgments, features, **options)
    data = joined.data
    found = dict(
        zip(
            zip(data.qid.tolist(), data.doc_ids.tolist(), strict=True),
            zip(data.y.tolist(), data.X[:, 0].tolist(), strict=True),
            strict=True,
        )
    )
    assert found == expected
    assert len(found) == data.n_rows
    counts = joined.counts
    assert counts["repeated judgments"] == len(judged) - len(grades)
    assert counts["documents with disagreeing grades"] == sum(
        len(set(g)) > 1 for g in grades.values()
    )
    rows_without = [key for key, _ in logged if key not in grades]
    assert counts["documents with features but without a judgment"] == len(rows_without)
    assert counts["judged documents without features"] == len(grades.keys() - values.keys())
    unknown = {query for query, _ in grades} - {query for query, _ in grades.keys() & values.keys()}
    assert counts["judged queries without features"] == len(unknown)


def test_rows_of_a_query_stand_together_in_the_order_of_judgments():
    judgments = log(
        "judgments",
        [("b", "2", 1), ("a", "1", 2), ("b", "1", 0)],
        ["query", "document", "grade"],
    )
    features = log(
        "features",
        [("a", "1", 1), ("b", "1", 2), ("c", "1", 9), ("b", "2", 3)],
        ["query", "document", "x"],
    )
    data = join(judgments, features).data
    assert data.qid.tolist() == ["b", "b", "a"]
    assert data.doc_ids.tolist() == ["2", "1", "1"]
    assert data.X[:, 0].tolist() == [3, 2, 1]


def test_disagreement_can_be_refused_or_resolved():
    judgments = log("judgments", [("q", "a", g) for g in (0, 3, 3)], ["query", "document", "grade"])
    features = log("features", [("q", "a", 1)], ["query", "document", "x"])
    values = {rule: join(judgments, features, disagreement=rule).data.y[0] for rule in
              ("mean", "median", "max", "min", "last")}  # fmt: skip
    assert values == {"mean": 2, "median": 3, "max": 3, "min": 0, "last": 3}
    with pytest.raises(DataError, match="'a' of the query 'q' has the grades 0, 3, 3"):
        join(judgments, features, disagreement="error")
    with pytest.raises(ValueError, match="disagreement must be one of"):
        join(judgments, features, disagreement="vote")


def test_features_logged_twice_with_other_values_can_be_refused():
    judgments = log("judgments", [("q", "a", 1)], ["query", "document", "grade"])
    features = log("features", [("q", "a", 1), ("q", "a", 2)], ["query", "document", "x"])
    with pytest.raises(DataError, match="logged twice, with different values"):
        join(judgments, features, repeated_features="error")
    same = log("features", [("q", "a", 1), ("q", "a", 1)], ["query", "document", "x"])
    joined = join(judgments, same, repeated_features="error")
    assert joined.data.n_rows == 1
    assert joined.counts["documents with other features each time"] == 0


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_number_and_a_missing_value_are_other_features(missing):
    judgments = log("judgments", [("q", "a", 1)], ["query", "document", "grade"])
    features = log("features", [("q", "a", missing), ("q", "a", 2)], ["query", "document", "x"])
    with pytest.raises(DataError, match="logged twice, with different values"):
        join(judgments, features, repeated_features="error")
    joined = join(judgments, features)
    assert joined.counts["documents with other features each time"] == 1
    nothing = log("features", [("q", "a", missing)] * 2, ["query", "document", "x"])
    joined = join(judgments, nothing, repeated_features="error")
    assert np.isnan(joined.data.X).all()


def test_features_that_differ_between_two_equal_rows_are_counted():
    judgments = log("judgments", [("q", "a", 1)], ["query", "document", "grade"])
    rows = [("q", "a", 1), ("q", "a", 2), ("q", "a", 1)]
    features = log("features", rows, ["query", "document", "x"])
    assert join(judgments, features).counts["documents with other features each time"] == 1
    missing = log("features", [("q", "a", None), ("q", "a", 2.0)], ["query", "document", "x"])
    assert join(judgments, missing).counts["documents with other features each time"] == 1


def test_repeated_judgments_have_the_mean_of_their_weights():
    rows = [("q", "a", 1, 1.0), ("q", "b", 2, 5.0), ("q", "a", 1, 3.0)]
    judgments = log("judgments", rows, ["query", "document", "grade", "weight"])
    features = log("features", [("q", "a", 1), ("q", "b", 2)], ["query", "document", "x"])
    assert join(judgments, features).data.sample_weight.tolist() == [2.0, 5.0]


def test_numbers_beyond_32_bits_are_refused_by_name():
    judgments = log("judgments", [("q", "a", 1)], ["query", "document", "grade"])
    features = log("features", [("q", "a", 1e300)], ["query", "document", "x"])
    with pytest.raises(DataError, match=r"'x' of the document 'a' of the query 'q' is 1e\+300"):
        join(judgments, features)


def test_kinds_of_logs_are_not_confused():
    features = log("features", [("q", "a", 1)], ["query", "document", "x"])
    with pytest.raises(DataError, match="holds features, not judgments"):
        join(features, features)


def test_weights_and_missing_values_reach_the_data_set(tmp_path):
    (tmp_path / "j.csv").write_text("query,document,grade,weight\nq,a,1,0.5\nq,b,0,2\n")
    (tmp_path / "f.csv").write_text("query,document,x,y\nq,b,,1\nq,a,3,4\n")
    data = join(tmp_path / "j.csv", tmp_path / "f.csv").data
    assert data.sample_weight.tolist() == [0.5, 2]
    np.testing.assert_array_equal(data.X, [[3, 4], [np.nan, 1]])
    assert data.feature_names == ("x", "y")


@pytest.mark.parametrize("unjudged", [None, 0.0])
def test_few_matches_are_refused_with_counts_and_examples(unjudged):
    rows = [("q", f"d{i:02}", 1) for i in range(50)]
    judgments = log("judgments", rows, ["query", "document", "grade"])
    others = [("q", f"D{i:02}" if i else "d00", 1) for i in range(50)]
    features = log("features", others, ["query", "document", "x"])
    said = (
        r"only 1 of the 50 judged documents of judgments \(2\.0%\) have features in the feature "
        r"log: .*no features of 'q', 'd01', and no judgment of 'q', 'D01'.*min_matched.*is 0\.5"
    )
    with pytest.raises(DataError, match=said):
        join(judgments, features, unjudged=unjudged)
    assert join(judgments, features, unjudged=unjudged, min_matched=0.02).data.y[0] == 1
    with pytest.raises(ValueError, match="min_matched must be a share from 0 to 1, not 2"):
        join(judgments, features, min_matched=2)


@pytest.mark.process
def test_the_command_writes_training_data_and_says_what_did_not_match(tmp_path):
    (tmp_path / "ratings.csv").write_text("query,docid,rating\nshoes,a,2\nshoes,b,0\nhats,a,1\n")
    features = [{"name": "bm25", "value": 1.5}, {"name": "age", "value": 2.0}]
    hits = [{"_id": i, "fields": {"_ltrlog": [{"main": features}]}} for i in ("a", "b", "c")]
    line = json.dumps({"query": "shoes", "response": {"hits": {"hits": hits}}})
    (tmp_path / "log.jsonl").write_text(line)
    command = [sys.executable, "-m", "rankgrove", "join", "ratings.csv", "log.jsonl"]
    done = subprocess.run(
        [*command, "--out", "train.parquet", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    assert said["rows"] == 2
    assert said["counts"] == {
        "documents with features but without a judgment": 1,
        "judged documents without features": 1,
        "judged queries without features": 1,
    }
    data = rankgrove.load(tmp_path / "train.parquet")
    assert (data.feature_names, data.y.tolist()) == (("bm25", "age"), [2, 0])
    refused = subprocess.run(
        [*command, "--out", "log.jsonl"], cwd=tmp_path, capture_output=True, text=True
    )
    assert refused.returncode != 0
    assert (tmp_path / "log.jsonl").read_text() == line


def test_options_of_a_side_are_named_as_join_takes_them(tmp_path):
    judged, features = tmp_path / "judged.csv", tmp_path / "features.csv"
    judged.write_text("query,document,grade\np,a,1\n")
    features.write_text("what,sku,x\np,a,0.5\n")
    with pytest.raises(
        DataError, match=r"features.csv: .*name it with feature_options={'query': ...}"
    ):
        join(judged, features)
    named = {"query": "what", "document": "sku"}
    assert join(judged, features, feature_options=named).data.X.tolist() == [[0.5]]
