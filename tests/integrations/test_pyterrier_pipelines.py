"""A ranker is the last stage of a PyTerrier pipeline."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, MissingDependencyError
from rankgrove.integrations import pyterrier_reranker
from rankgrove.integrations.pyterrier_pipelines import feature_matrix, judged


def retrieved(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, rankgrove.Dataset]:
    """Retrieved documents with features, their judgments, and the same as a Dataset."""
    data = make_ranking(15, n_features=4, seed=seed)
    frame = pd.DataFrame(
        {
            "qid": [f"q{query}" for query in data.qid],
            "query": "words",
            "docno": [f"d{row}" for row in range(len(data.y))],
            "score": 0.0,
            "rank": 0,
            "features": list(data.X.astype(np.float64)),
        }
    )
    qrels = frame[["qid", "docno"]].assign(label=data.y.astype(int))
    return frame, qrels[qrels["label"] > 0], data


def ranker() -> rankgrove.LambdaMART:
    return rankgrove.LambdaMART(n_estimators=5, min_samples_leaf=2, random_state=0)


@pytest.mark.process  # PyTerrier takes seconds to import
def test_pipeline_is_trained_and_ranks_as_the_ranker():
    pt = pytest.importorskip("pyterrier")
    frame, qrels, data = retrieved(1)
    valid, valid_qrels, _ = retrieved(2)
    stage = pyterrier_reranker(ranker(), early_stopping_rounds=3)
    pipeline = pt.Transformer.identity() >> stage
    pipeline.fit(frame, qrels, valid, valid_qrels)
    expected = ranker().fit(data, eval_set=retrieved(2)[2], early_stopping_rounds=3).predict(data)
    result = pipeline.transform(frame).sort_index()
    by_document = dict(zip(result["docno"], result["score"], strict=True))
    assert np.array_equal([by_document[f"d{i}"] for i in range(len(data.y))], expected)
    for _, found in result.groupby("qid"):
        assert found.sort_values("rank")["score"].is_monotonic_decreasing
    assert len(pipeline.transform(frame.iloc[:0])) == 0


def test_documents_without_a_judgment_have_grade_0():
    frame, qrels, data = retrieved(1)
    found = judged(frame, qrels)
    assert np.array_equal(found.y, data.y)
    assert list(found.doc_ids[:2]) == ["d0", "d1"]


def test_what_is_missing_is_named():
    frame, qrels, _ = retrieved(1)
    with pytest.raises(DataError, match="no column features"):
        feature_matrix(frame.drop(columns="features"))
    with pytest.raises(DataError, match="qrels have no column label"):
        judged(frame, qrels.drop(columns="label"))
    with pytest.raises(DataError, match=f"document {qrels['docno'].iloc[0]} of query q.* twice"):
        judged(frame, pd.concat([qrels, qrels.iloc[:1]]))
    frame.at[0, "features"] = np.zeros(2)
    with pytest.raises(DataError, match="from 2 to 4 features"):
        feature_matrix(frame)


def test_an_absent_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyterrier", None)
    with pytest.raises(MissingDependencyError, match=r"rankgrove\[pyterrier\]"):
        pyterrier_reranker(ranker())
