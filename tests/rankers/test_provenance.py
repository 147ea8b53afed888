"""Provenance of models: what a file remembers of its training."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import rankgrove
from rankgrove import ModelError, ranker_names
from rankgrove.cli.main import main
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.datasets import make_ranking
from rankgrove.formats.model_card import model_card
from rankgrove.rankers.base.provenance import (
    checked_provenance,
    feature_ranges,
    make_provenance,
)
from support.rankers import quick


@pytest.fixture(scope="module")
def data():
    return make_ranking(20, preset="letor4", seed=1)


def test_the_same_fit_gives_the_same_bytes_without_a_note(data, tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    for name in ("a.rg", "b.rg"):
        ranker = rankgrove.MART(n_estimators=2, random_state=1).fit(data)
        ranker.save(tmp_path / name)
        assert ranker.provenance_ is None
    assert (tmp_path / "a.rg").read_bytes() == (tmp_path / "b.rg").read_bytes()


def test_a_note_brings_date_and_version(data, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    ranker = rankgrove.MART(n_estimators=2).fit(data)
    ranker.save(tmp_path / "a.rg", note="the first\nof many", card=tmp_path / "card.md")
    found = rankgrove.load_model(tmp_path / "a.rg").provenance_
    assert found["note"] == "the first\nof many"
    assert found["date"] == "2023-11-14T22:13:20Z"
    assert found["version"] == rankgrove.__version__
    assert "the first\nof many" in (tmp_path / "card.md").read_text()


def test_a_new_fit_forgets_the_old_provenance(data, tmp_path):
    ranker = rankgrove.MART(n_estimators=2).fit(data)
    ranker.save(tmp_path / "a.rg", note="old")
    assert ranker.fit(data).provenance_ is None


def test_training_from_the_command_line_is_recorded(data, tmp_path, capsys):
    rankgrove.write_letor(data, tmp_path / "train.txt")
    rankgrove.write_letor(make_ranking(10, preset="letor4", seed=2), tmp_path / "valid.txt")
    train, valid = str(tmp_path / "train.txt"), str(tmp_path / "valid.txt")
    first, second = str(tmp_path / "first.rg"), str(tmp_path / "second.rg")
    common = ["--n-estimators", "3", "--quiet"]
    assert main(["train", "mart", train, *common, "--out", first]) == 0
    command = ["train", "mart", train, *common, "--out", second, "--valid", valid]
    more = ["--init-model", first, "--note", "Monday", "--card", str(tmp_path / "card.md")]
    assert main([*command, *more]) == 0
    capsys.readouterr()
    assert main(["info", second, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["provenance"]
    assert found["data"] == {"rows": data.n_rows, "queries": 20, "features": data.n_features}
    assert [file["name"] for file in found["files"]] == ["train.txt", "valid.txt"]
    assert found["files"][0]["bytes"] == (tmp_path / "train.txt").stat().st_size
    assert found["note"] == "Monday"
    assert set(found["validation"]) == {"ndcg@10"}
    assert len(found["parent"]) >= 16
    card = (tmp_path / "card.md").read_text()
    low, high = found["ranges"]["f1"]
    assert (low, high) == (data.X[:, 0].min(), data.X[:, 0].max())
    assert "| ndcg@10 | gain exp, discount log2, ties average" in card
    assert f"`f1` ({low:g} to {high:g})" in card
    assert "Monday" in card
    assert main(["info", second]) == 0
    assert "note: Monday" in capsys.readouterr().out


def test_ranges_are_those_of_finite_values_in_any_form():
    X = np.array([[1, np.nan, 0, 3], [np.inf, np.nan, 0, -2], [-4, np.nan, 5, 0]], np.float32)
    names = ["a", "b", "c", "d"]
    expected = {"a": [-4, 1], "c": [0, 5], "d": [-2, 3]}
    frame = pd.DataFrame(X, columns=names).assign(e=pd.Categorical(["x", "y", "x"]), y=1, qid=1)
    dense = rankgrove.load(frame, label="y", query="qid")
    assert feature_ranges(dense) == expected
    wide = rankgrove.Dataset(
        SparseMatrix.of(sparse.csr_array(X)), np.ones(3), np.ones(3), feature_names=names
    )
    assert wide.matrix.entries is not None
    assert feature_ranges(wide) == expected


def test_other_data_have_another_digest(data):
    changed = data.select_rows(np.arange(data.n_rows - 1))
    digests = {make_provenance(data=d)["data"]["digest"] for d in (data, data, changed)}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (["a"], "a table of values"),
        ({"author": "x"}, "no key 'author'"),
        ({"note": 3}, "the note of a provenance is a text"),
        ({"note": "x" * 100_001}, "at most 100,000 characters"),
        ({"validation": [1]}, "the validation of a provenance is a table"),
        ({"ranges": [1]}, "the ranges of a provenance are a table"),
        ({"ranges": {"a": [2, 1]}}, r"the range of 'a' in a provenance is \[2, 1\]"),
        ({"ranges": {"a": [0, "1"]}}, "the range of 'a'"),
        ({"ranges": {"a": [0, float("inf")]}}, "the range of 'a'"),
    ],
)
def test_records_of_hostile_files_are_refused(record, message):
    with pytest.raises(ModelError, match=message):
        checked_provenance(record)


@pytest.mark.filterwarnings("ignore::rankgrove.errors.DataWarning")  # RankSVM ends early
@pytest.mark.parametrize("name", ranker_names())
def test_the_card_of_any_ranker_can_be_written(name, data):
    """Names and parameters of every registered ranker fit into Markdown."""
    card = model_card(quick(name).fit(data))
    assert card.startswith(f"# Model card: {name}\n")
    assert "## Parameters" in card
