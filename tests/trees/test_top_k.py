"""The best k documents are those of predict; early exit keeps what it was taught to keep."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.ensembles import random_ensemble, rows_for

from rankgrove.data.core.dataset import Dataset
from rankgrove.errors import ModelError
from rankgrove.models.early_exit import EarlyExit
from rankgrove.rankers.base.imported import ImportedRanker
from rankgrove.trees.scorer import Scorer


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_trees=st.integers(0, 60),
    n_rows=st.integers(0, 200),
    k=st.integers(1, 20),
    decay=st.floats(0.5, 1.0),
)
def test_exact_top_k_is_the_head_of_predict(seed, n_trees, n_rows, k, decay):
    ensemble = random_ensemble(seed, n_trees, 8, 5)
    weights = ensemble.tree_weights * decay ** np.arange(n_trees)
    scorer = Scorer(dataclasses.replace(ensemble, tree_weights=weights))
    X = rows_for(ensemble, n_rows, seed)
    scores = scorer.predict(X)
    expected = np.argsort(-scores, kind="stable")[:k]
    rows, best = scorer.top_k(X, k)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(best, scores[expected])


def test_bounds_really_drop_documents(monkeypatch):
    ensemble = random_ensemble(1, 40, 8, 5)
    scorer = Scorer(dataclasses.replace(ensemble, tree_weights=0.5 ** np.arange(40)))
    X = rows_for(ensemble, 400, 2)
    sizes = []
    original = Scorer.add_to

    def counted(self, scores, X, go_on):
        sizes.append(len(X))
        original(self, scores, X, go_on)

    monkeypatch.setattr(Scorer, "add_to", counted)
    scorer.top_k(X, 5)
    assert sizes[0] == 400
    assert sizes[-1] < 100


@pytest.fixture
def judged():
    ensemble = random_ensemble(3, 50, 16, 6)
    weights = np.abs(ensemble.tree_weights) * 0.95 ** np.arange(50)
    model = ImportedRanker.from_ensemble(
        dataclasses.replace(ensemble, tree_weights=weights), "a test"
    )
    X = np.random.default_rng(0).normal(size=(3000, 6)).astype(np.float32)
    scores = model.predict(X)
    y = np.digitize(scores, np.quantile(scores, [0.6, 0.9])).astype(float)
    qid = np.random.default_rng(1).permutation(np.repeat(np.arange(60), 50))
    return model, Dataset(X, y, qid)


def test_learnt_exit_keeps_the_promised_share(judged):
    model, data = judged
    exact = EarlyExit.learn(model, data, k=5, keep=1.0)
    assert exact.early_ndcg == exact.ndcg
    loose = EarlyExit.learn(model, data, k=5, keep=0.8)
    assert loose.share_of_work < exact.share_of_work <= 1.0
    assert loose.ndcg == exact.ndcg
    assert loose.early_ndcg <= loose.ndcg
    found = wanted = 0
    order = data.groups.order
    for first, last in zip(data.groups.offsets[:-1], data.groups.offsets[1:], strict=True):
        X = data.X[order[first:last]]
        rows, scores = model.compile().top_k(X, 5, early_exit=loose)
        best = np.argsort(-model.predict(X), kind="stable")[:5]
        np.testing.assert_array_equal(scores, model.predict(X)[rows])
        found += len(set(rows) & set(best))
        wanted += 5
    assert 0.5 < found / wanted < 1.0


def test_wrong_use_is_named(judged):
    model, data = judged
    scorer = model.compile()
    exit_for_3 = EarlyExit.learn(model, data, k=3)
    with pytest.raises(ValueError, match="first 3 documents"):
        scorer.top_k(data.X, 4, early_exit=exit_for_3)
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        scorer.top_k(data.X, 0)
    with pytest.raises(ValueError, match="keep must be"):
        EarlyExit.learn(model, data, keep=0.0)
    with pytest.raises(ModelError, match="one output"):
        Scorer(random_ensemble(1, 4, 4, 4, n_outputs=2)).top_k(np.zeros((3, 4)), 1)
