"""Collections of ir_datasets become data; rankings go to ir_measures."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError
from rankgrove.integrations import from_ir_datasets, to_ir_measures


@pytest.fixture
def collection(tmp_path):
    ir_datasets = pytest.importorskip("ir_datasets")
    (tmp_path / "docs.tsv").write_text("a\tred shoes\nb\tblue shoes\nc\tgreen hat\n")
    (tmp_path / "queries.tsv").write_text("1\tred shoes\n2\that\n")
    (tmp_path / "qrels").write_text("1 0 a 2\n1 0 b 1\n2 0 c 1\n2 0 a -1\n")
    return ir_datasets.create_dataset(
        docs_tsv=str(tmp_path / "docs.tsv"),
        queries_tsv=str(tmp_path / "queries.tsv"),
        qrels_trec=str(tmp_path / "qrels"),
    )


def common_words(query, document):
    return [len(set(query.text.split()) & set(document.text.split())), len(document.text)]


def test_judged_documents_become_rows(collection):
    data = from_ir_datasets(collection, common_words, ["common", "length"])
    assert list(data.qid) == ["1", "1", "2", "2"]
    assert list(data.doc_ids) == ["a", "b", "c", "a"]
    assert list(data.y) == [2, 1, 1, 0]  # junk (-1) is not relevant
    assert data.X[:, 0].tolist() == [2, 1, 1, 0]
    assert tuple(data.feature_names) == ("common", "length")


def test_features_of_another_length_are_refused(collection):
    lengths = iter((2, 2, 3, 2))
    with pytest.raises(DataError, match=r"shape \(3,\) for document c of query 2"):
        from_ir_datasets(collection, lambda query, document: [0.0] * next(lengths))


def test_ir_measures_agrees_with_evaluate():
    ir_measures = pytest.importorskip("ir_measures")
    data = make_ranking(20, seed=1)
    scores = np.random.default_rng(0).normal(size=len(data.y))
    found = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], *to_ir_measures(data, scores))
    ours = rankgrove.evaluate(data, scores, metrics="ndcg@10", preset="trec")
    assert found[ir_measures.nDCG @ 10] == pytest.approx(float(ours["ndcg@10"]))


def test_wrong_scores_and_real_labels_are_refused():
    pytest.importorskip("ir_measures")
    data = make_ranking(5, seed=1)
    with pytest.raises(DataError, match="scores have shape"):
        to_ir_measures(data, [1.0])
    real = rankgrove.Dataset(data.X, data.y + 0.5, qid=data.qid)
    with pytest.raises(DataError, match="whole numbers"):
        to_ir_measures(real, data.y)
