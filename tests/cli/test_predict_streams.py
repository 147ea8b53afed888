"""``rankgrove predict`` and ``ranker.predict(path)`` are one way of scoring a file."""

from __future__ import annotations

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pytest

import rankgrove as rg
from rankgrove.cli.main import main
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.data.scanning.scan import Scan
from rankgrove.data.writing import to_arrow, write_letor, write_parquet
from rankgrove.datasets import make_ranking

FORMATS = ("txt", "txt.gz", "parquet", "csv", "feather", "npz")


@pytest.fixture(scope="module")
def data():
    return make_ranking(20, docs_per_query=12, n_features=6, seed=3)


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    numbered = data.with_features(data.X, [f"f{i}" for i in range(1, 7)])
    write_letor(numbered, folder / "data.txt")
    write_letor(numbered, folder / "data.txt.gz")
    write_parquet(numbered, folder / "data.parquet")
    pyarrow.csv.write_csv(to_arrow(numbered), folder / "data.csv")
    pyarrow.feather.write_feather(to_arrow(numbered), str(folder / "data.feather"))
    np.savez(folder / "data.npz", X=data.X, y=data.y, qid=data.qid)
    rg.MART(n_estimators=5, random_state=0).fit(numbered).save(folder / "model.rg")
    return folder


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr("rankgrove.data.reading.arrow._BLOCK_ROWS", 50)
    monkeypatch.setattr("rankgrove.data.reading.arrow._BATCH_VALUES", 300)
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 3000)


def scored(folder, *paths):
    main(["predict", str(folder / "model.rg"), *map(str, paths), "--out", str(folder / "scores")])
    return np.loadtxt(folder / "scores")


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_command_line_and_python_give_equal_scores(folder, data, suffix, small_batches):
    path = folder / f"data.{suffix}"
    ranker = rg.load_model(folder / "model.rg")
    expected = ranker.predict(data.X)
    np.testing.assert_array_equal(scored(folder, path), expected)
    np.testing.assert_array_equal(ranker.predict(path), expected)


@pytest.mark.parametrize("suffix", ["txt", "parquet"])
def test_files_are_scored_in_several_batches(folder, suffix, small_batches, monkeypatch):
    sizes = []
    batches = Scan.batches

    def counted(self, **options):
        for batch in batches(self, **options):
            sizes.append(len(batch.X))
            yield batch

    monkeypatch.setattr(Scan, "batches", counted)
    assert len(scored(folder, folder / f"data.{suffix}")) == sum(sizes)
    assert len(sizes) > 2


def test_folders_files_and_patterns_are_scored_one_after_the_other(folder, tmp_path):
    once = scored(folder, folder / "data.parquet")
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / name).write_bytes((folder / "data.parquet").read_bytes())
    twice = np.tile(once, 2)
    np.testing.assert_array_equal(scored(folder, tmp_path), twice)
    np.testing.assert_array_equal(scored(folder, tmp_path / "*.parquet"), twice)
    both = scored(folder, tmp_path / "a.parquet", tmp_path / "b.parquet")
    np.testing.assert_array_equal(both, twice)


def test_wide_text_stays_sparse_in_every_batch(tmp_path, monkeypatch):
    monkeypatch.setattr("rankgrove.data.reading.letor._STREAMED_BYTES", 400)
    path = tmp_path / "wide.txt"
    path.write_text("".join(f"0 qid:1 {i}:1 {i + 4000}:2\n" for i in range(1, 100)))
    names = [f"f{i}" for i in range(1, 5001)]
    kinds = {type(batch.X) for batch in rg.scan(path, feature_names=names).batches()}
    assert kinds == {SparseMatrix}


def test_n_steps_scores_by_the_first_steps(folder, data, small_batches):
    ranker = rg.load_model(folder / "model.rg")
    expected = ranker.predict(data.X, n_steps=2)
    assert not np.array_equal(expected, ranker.predict(data.X))
    path = folder / "data.txt"
    np.testing.assert_array_equal(scored(folder, path, "--n-steps", 2), expected)
    np.testing.assert_array_equal(ranker.predict(path, n_steps=2), expected)
    with pytest.raises(ValueError, match="n_steps must be a whole number from 1 to 5"):
        ranker.predict(path, n_steps=6)
