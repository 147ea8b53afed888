"""``rankgrove train`` on data that are streamed."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import rankgrove as rg
from rankgrove.cli.main import main
from rankgrove.data.scanning import memory_estimate
from rankgrove.datasets import make_ranking


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    data = make_ranking(30, docs_per_query=10, n_features=6, seed=2)
    (folder / "parts").mkdir()
    rg.write_parquet(data.select_queries(np.arange(10)), folder / "parts" / "a.parquet")
    rg.write_parquet(data.select_queries(np.arange(10, 20)), folder / "parts" / "b.parquet")
    rg.write_parquet(data.select_queries(np.arange(20, 30)), folder / "valid.parquet")
    rg.write_letor(data, folder / "train.txt")
    return folder


def train(folder, *options):
    out = folder / "model.rg"
    options = [*map(str, options), "--n-estimators", "5", "--quiet", "--out", str(out)]
    assert main(["train", "lambdamart", *options]) in (None, 0)
    return out.read_bytes()


@pytest.mark.parametrize("source", ["parts", "parts/a.parquet", "train.txt"])
def test_streamed_and_loaded_data_give_the_same_file(folder, source, capsys):
    data = [folder / source, "--valid", folder / "valid.parquet"]
    if source == "train.txt":
        data = data[:1]
    streamed = train(folder, *data, "--stream")
    assert streamed == train(folder, *data, "--no-stream") == train(folder, *data)


def test_several_files_are_one_set(folder):
    files = [folder / "parts" / "a.parquet", folder / "parts" / "b.parquet"]
    assert train(folder, *files) == train(folder, folder / "parts", "--stream")


def test_the_summary_counts_what_was_read(folder, capsys):
    data = [folder / "parts", "--test", folder / "valid.parquet", "--json"]
    train(folder, *data, "--stream")
    streamed = json.loads(capsys.readouterr().out)
    train(folder, *data, "--no-stream")
    loaded = json.loads(capsys.readouterr().out)
    for key in ("rows", "queries", "features", "size", "metrics"):
        assert streamed[key] == loaded[key]


def test_a_cache_is_kept_where_it_is_wanted(folder, tmp_path, capsys):
    train(folder, folder / "parts", "--cache", tmp_path / "cache")
    assert list((tmp_path / "cache").glob("rankgrove-*/codes-*"))
    loaded = ["train", "mart", str(folder / "parts"), "--no-stream", "--cache", str(tmp_path)]
    assert main([*loaded, "--out", str(tmp_path / "m.rg")]) != 0
    assert "--cache has no effect" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["parts/a.parquet", "train.txt"])
def test_the_size_of_the_matrix_decides(folder, name, monkeypatch):
    path = folder / name
    needed = memory_estimate._TRAINING * rg.load(path).X.nbytes
    monkeypatch.setattr(memory_estimate, "free_memory", lambda: 3 * needed)
    assert not memory_estimate.should_stream([path])
    monkeypatch.setattr(memory_estimate, "free_memory", lambda: needed)
    assert memory_estimate.should_stream([path])


def test_wide_text_that_stays_sparse_takes_what_its_entries_take(tmp_path, monkeypatch):
    path = tmp_path / "wide.txt"
    path.write_text("".join(f"1 qid:1 {i}:1 {i + 50_000}:1\n" for i in range(1, 1000)))
    monkeypatch.setattr(memory_estimate, "free_memory", lambda: 10 * path.stat().st_size)
    assert not memory_estimate.should_stream([path])


def test_positions_of_clicks_are_streamed(tmp_path):
    import pandas as pd

    random = np.random.default_rng(0)
    frame = pd.DataFrame({"session": np.repeat(range(50), 4), "position": [1, 2, 3, 4] * 50})
    frame = frame.assign(clicked=random.integers(0, 2, 200), x=random.random(200))
    frame.to_csv(tmp_path / "clicks.csv", index=False)
    words = ["train", "lambdamart", str(tmp_path / "clicks.csv"), "--label", "clicked", "--query"]
    words += ["session", "--position", "position", "--position-bias", "unbiased", "--seed", "1"]
    tables = []
    for how in ("--stream", "--no-stream"):
        out = str(tmp_path / f"{how}.rg")
        assert main([*words, how, "--n-estimators", "3", "--out", out]) == 0
        tables.append(rg.load_model(out).position_bias_)
    for name, values in tables[0].items():
        np.testing.assert_array_equal(values, tables[1][name])


@pytest.mark.parametrize("how", ["--stream", "--no-stream"])
def test_names_that_validation_data_lack_are_told_once(how, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rg.write_parquet(make_ranking(20, seed=1), "named.parquet")
    rg.write_letor(make_ranking(10, seed=2), "valid.txt")
    words = "train mart named.parquet --valid valid.txt --n-estimators 2 --quiet --out m.rg"
    assert main([*words.split(), how]) == 0
    assert capsys.readouterr().err.count("has no names for its columns") == 1


def test_a_pipe_is_not_streamed(folder, capsys):
    os.mkfifo(folder / "pipe.txt")
    command = ["train", "mart", str(folder / "pipe.txt"), "--stream", "--out", str(folder / "p.rg")]
    assert main(command) == 1
    assert "a pipe cannot be streamed" in capsys.readouterr().err
