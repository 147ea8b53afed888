"""``rankgrove convert``."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankgrove import load


@pytest.mark.parametrize("name", ["out.parquet", "out.txt", "out.svm.gz", "out.letor.zst"])
def test_round_trip_is_exact(rankgrove, data_file, tmp_path, name):
    run = rankgrove("convert", data_file, name)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(f"{name}: 5 rows, 3 queries, 3 features, ")
    before, after = load(data_file), load(tmp_path / name)
    assert np.array_equal(before.X, after.X)
    assert np.array_equal(before.y, after.y)
    assert before.qid.tolist() == after.qid.tolist()
    assert list(before.doc_ids) == list(after.doc_ids)


def test_there_and_back_again(rankgrove, data_file, tmp_path):
    assert rankgrove("convert", data_file, "a.parquet").returncode == 0
    assert rankgrove("convert", "a.parquet", "b.txt").returncode == 0
    assert rankgrove("convert", "b.txt", "c.txt").returncode == 0
    assert (tmp_path / "b.txt").read_bytes() == (tmp_path / "c.txt").read_bytes()


def test_omitted_values_are_left_out(rankgrove, data_file, tmp_path):
    run = rankgrove("convert", data_file, "out.txt", "--omit", "zero", "--json")
    assert json.loads(run.stdout)["rows"] == 5
    text = (tmp_path / "out.txt").read_text()
    assert "0 qid:a 1:0.25\n" in text
    assert " 2:0" not in text
    assert np.array_equal(load(tmp_path / "out.txt").X, load(data_file).X)


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.gz"])
def test_unknown_output_is_a_usage_error(rankgrove, data_file, tmp_path, name):
    run = rankgrove("convert", data_file, name)
    assert run.returncode == 2
    assert "does not tell the format" in run.stderr
    assert not (tmp_path / name).exists()


def test_failure_leaves_the_old_file(rankgrove, tmp_path):
    (tmp_path / "bad.txt").write_text("1 qid:1 1:x\n")
    (tmp_path / "out.parquet").write_text("old")
    run = rankgrove("convert", "bad.txt", "out.parquet")
    assert run.returncode == 1
    assert (tmp_path / "out.parquet").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "out.parquet"]
