"""Scores with ids: a run that trec_eval reads, CSV and Parquet."""

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import rankgrove
from rankgrove.cli.main import main
from rankgrove.datasets import make_ranking
from rankgrove.logs import read_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scored")
    data = make_ranking(12, preset="letor4", seed=1)
    ids = [f"d{i}" for i in range(data.n_rows)]
    shuffled = np.random.default_rng(1).permutation(data.n_rows)
    named = rankgrove.Dataset(
        data.X, data.y, data.qid, feature_names=data.feature_names, doc_ids=ids
    ).select_rows(shuffled)
    rankgrove.write_parquet(named, folder / "test.parquet")
    rankgrove.MART(n_estimators=5, random_state=1).fit(data).save(folder / "model.rg")
    rankgrove.write_parquet(data, folder / "no-ids.parquet")
    return folder


def predicted(folder):
    data = rankgrove.load(folder / "test.parquet")
    scores = rankgrove.load_model(folder / "model.rg").predict(data)
    return dict(zip(data.doc_ids, zip(data.qid.tolist(), scores, strict=True), strict=True))


@pytest.mark.parametrize("name", ["out.run", "out.csv", "out.tsv", "out.parquet"])
def test_scores_stand_beside_their_ids(folder, name):
    command = ["predict", str(folder / "model.rg"), str(folder / "test.parquet")]
    assert main([*command, "--out", str(folder / name)]) == 0
    expected = predicted(folder)
    rows = read_run(folder / name).table.to_pylist()
    assert len(rows) == len(expected)
    for row in rows:
        query, score = expected[row["document"]]
        assert row["query"] == str(query)
        assert row["score"] == score  # the same float64


def test_a_run_lists_the_best_first(folder):
    command = ["predict", str(folder / "model.rg"), str(folder / "test.parquet")]
    assert main([*command, "--out", str(folder / "ranked.run")]) == 0
    last: dict = {}
    for line in (folder / "ranked.run").read_text().splitlines():
        query, q0, _, rank, score, tag = line.split()
        assert (q0, tag) == ("Q0", "model")
        assert int(rank) == last.get(query, (0, np.inf))[0] + 1
        assert float(score) <= last.get(query, (0, np.inf))[1]
        last[query] = (int(rank), float(score))


def test_blanks_of_the_models_name_become_underscores_of_the_tag(folder):
    (folder / "my new model.rg").write_bytes((folder / "model.rg").read_bytes())
    command = ["predict", str(folder / "my new model.rg"), str(folder / "test.parquet")]
    assert main([*command, "--out", str(folder / "blanks.run")]) == 0
    line = (folder / "blanks.run").read_text().splitlines()[0]
    assert line.split()[-1] == "my_new_model"


def test_probabilities_stand_beside_their_ids(folder):
    data = rankgrove.load(folder / "test.parquet")
    labels = (data.y > 0).astype(int)
    binary = rankgrove.Dataset(data.X, labels, data.qid, feature_names=data.feature_names)
    ranker = rankgrove.QueryCrossEntropy(n_estimators=3, random_state=1).fit(binary)
    ranker.save(folder / "binary.rg")
    command = ["predict", str(folder / "binary.rg"), str(folder / "test.parquet"), "--proba"]
    assert main([*command, "--out", str(folder / "proba.csv")]) == 0
    assert main([*command, "--out", str(folder / "proba.txt")]) == 0
    table = pyarrow.csv.read_csv(folder / "proba.csv")
    assert table["score"].to_numpy().tolist() == np.loadtxt(folder / "proba.txt").tolist()
    assert table["score"].to_numpy().min() > 0


def test_a_run_needs_ids_of_documents(folder, capsys):
    command = ["predict", str(folder / "model.rg"), str(folder / "no-ids.parquet")]
    assert main([*command, "--out", str(folder / "none.run")]) == 1
    assert "documents have no ids" in capsys.readouterr().err
    assert not (folder / "none.run").exists()
    assert main([*command, "--out", str(folder / "none.csv")]) == 0
    assert pyarrow.csv.read_csv(folder / "none.csv").column_names == ["qid", "score"]


def test_a_run_lists_each_document_of_a_query_once(folder, capsys):
    data = rankgrove.load(folder / "test.parquet")
    ids = data.doc_ids.copy()
    first, second = np.flatnonzero(data.qid == data.qid[0])[:2]
    ids[second] = ids[first]
    again = rankgrove.Dataset(
        data.X, data.y, data.qid, feature_names=data.feature_names, doc_ids=ids
    )
    rankgrove.write_parquet(again, folder / "again.parquet")
    command = ["predict", str(folder / "model.rg"), str(folder / "again.parquet")]
    assert main([*command, "--out", str(folder / "again.run")]) == 1
    message = capsys.readouterr().err
    assert f"the document {ids[first]!r} of the query '{data.qid[0]}' occurs" in message
    assert "one score per line, as .txt" in message
    assert not (folder / "again.run").exists()
    assert main([*command, "--out", str(folder / "again.txt")]) == 0
    judged = [str(folder / "again.parquet"), "--metric", "ndcg@10"]
    assert main(["evaluate", str(folder / "again.txt"), *judged]) == 0
    assert main([*command, "--out", str(folder / "again.csv")]) == 0


@pytest.mark.parametrize("name", ["out.npy", "out.csv.gz", "out.arrow", "out.JSON"])
def test_text_is_not_written_under_the_suffix_of_another_format(folder, name, capsys):
    command = ["predict", str(folder / "model.rg"), str(folder / "test.parquet")]
    with pytest.raises(SystemExit):
        main([*command, "--out", str(folder / name)])
    suffix = name[name.rindex(".") :].lower()
    assert f"scores are not written as {suffix}:" in capsys.readouterr().err
    assert not (folder / name).exists()
