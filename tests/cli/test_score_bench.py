"""``rankgrove score-bench`` prints figures for a user's own model and data."""

from __future__ import annotations

import json

import pytest
from tests.oracles.ensembles import random_ensemble

import rankgrove as rg
from rankgrove.data.matrix.sparse import SparseMatrix
from rankgrove.rankers.base.imported import ImportedRanker


@pytest.fixture
def model_file(tmp_path):
    model = ImportedRanker.from_ensemble(
        random_ensemble(1, 5, 8, 3), "a test", feature_names=["1", "2", "3"]
    )
    model.save(tmp_path / "model.rg")
    return tmp_path / "model.rg"


def test_json_has_throughput_and_latency(rankgrove, model_file, data_file):
    done = rankgrove("score-bench", model_file, data_file, "--seconds", 0.05, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["size"], found["documents"], found["queries"]) == ("5 trees", 5, 3)
    assert found["us_per_document"]["1"] > 0
    assert 0 < found["query_us"]["median"] <= found["query_us"]["p99"]


def test_table_for_people(rankgrove, model_file, data_file):
    done = rankgrove("score-bench", model_file, data_file, "--seconds", 0.05)
    assert done.returncode == 0, done.stderr
    for words in ("5 trees", "us per document", "documents per second", "p99", "prepared in"):
        assert words in done.stdout


def test_a_broken_model_is_named(rankgrove, tmp_path, data_file):
    (tmp_path / "broken.rg").write_text("no model")
    done = rankgrove("score-bench", "broken.rg", data_file)
    assert done.returncode == 1
    assert "broken.rg" in done.stderr


@pytest.mark.parametrize(
    "ranker",
    [
        rg.RFPair(n_estimators=2, min_samples_leaf=1, random_state=0),
        rg.ListMLE(max_iter=2, normalisation="query-minmax", random_state=0),
    ],
)
def test_models_that_look_at_whole_lists(rankgrove, tmp_path, data_file, ranker):
    ranker.fit(rg.load(data_file)).save(tmp_path / "lists.rg")
    done = rankgrove("score-bench", "lists.rg", data_file, "--seconds", 0.05, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["query_us"]["median"] > 0


def test_sparse_data(rankgrove, tmp_path):
    lines = [f"{i % 2} qid:{i // 4} {1 + i * 499}:{i}.5" for i in range(40)]
    (tmp_path / "wide.txt").write_text("\n".join(lines) + "\n")
    data = rg.load(tmp_path / "wide.txt")
    assert isinstance(data.X, SparseMatrix)
    rg.MART(n_estimators=2, min_samples_leaf=1).fit(data).save(tmp_path / "wide.rg")
    done = rankgrove("score-bench", "wide.rg", "wide.txt", "--seconds", 0.05, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["documents"] == 40


def test_categories(rankgrove, tmp_path):
    lines = [f"{i % 3},{i // 6},{'abc'[i % 3]},{i % 5}" for i in range(120)]
    (tmp_path / "shop.csv").write_text("label,qid,brand,price\n" + "\n".join(lines) + "\n")
    data = rg.load(tmp_path / "shop.csv", categorical=["brand"])
    rg.MART(n_estimators=2, min_samples_leaf=1).fit(data).save(tmp_path / "shop.rg")
    done = rankgrove("score-bench", "shop.rg", "shop.csv", "--seconds", 0.05, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["documents"] == 120
