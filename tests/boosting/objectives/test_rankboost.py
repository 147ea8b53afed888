"""RankBoost against pairs that are listed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgrove
from oracles.pairs import best_stump, rankboost_distribution, rankboost_r
from rankgrove import _native
from rankgrove.datasets import make_ranking


@pytest.mark.slow
@given(
    sizes=st.lists(st.integers(0, 8), min_size=1, max_size=5),
    seed=st.integers(0, 10**6),
    n_labels=st.integers(1, 5),
    weighted=st.booleans(),
)
def test_potentials_are_sums_over_pairs(sizes, seed, n_labels, weighted):
    rng = np.random.default_rng(seed)
    offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    n = int(offsets[-1])
    scores, y = 3 * rng.normal(size=n), rng.integers(0, n_labels, n).astype(float)
    factors = np.round(rng.random(n), 1) if weighted else None
    potentials = np.empty(n)
    totals = _native.PairPotentials(offsets, y, factors).compute(scores, 2, potentials)
    assert totals.shape == (len(sizes),)
    own = np.ones(n) if factors is None else factors
    expected = np.zeros(n)
    for begin, end in itertools.pairwise(offsets):
        for i, j in itertools.permutations(range(begin, end), 2):
            if y[i] > y[j]:
                weight = own[i] * own[j] * np.exp(scores[j] - scores[i])
                expected[i] += weight
                expected[j] -= weight
    np.testing.assert_allclose(potentials, expected, rtol=1e-9, atol=1e-9)


def test_far_scores_do_not_overflow():
    potentials = np.empty(2)
    pairs = _native.PairPotentials(np.array([0, 2]), np.array([0.0, 1.0]), None)
    totals = pairs.compute(np.array([1e6, -1e6]), 1, potentials)
    assert np.isfinite(totals).all()
    assert np.isfinite(potentials).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_every_round_takes_a_best_stump_with_its_weight(weighted):
    data = make_ranking(12, docs_per_query=8, n_features=5, seed=4)
    offsets = np.r_[0, np.cumsum(data.group_sizes)]
    weight = 1.0 + data.qid % 3 if weighted else None
    ranker = rankgrove.RankBoost(n_estimators=15)
    ranker.fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    factors = None if weight is None else np.sqrt(weight)
    trees = ranker.model_.ensemble
    scores = np.zeros(len(data.y))
    for t in range(15):
        distribution = rankboost_distribution(scores, data.y, offsets, factors)
        root, above = trees.tree_offsets[t], trees.tree_offsets[t] + 2
        answers = data.X[:, trees.feature[root]] > trees.threshold[root]
        r = rankboost_r(distribution, answers)
        assert abs(r) == pytest.approx(best_stump(data.X, distribution), rel=1e-5)
        assert trees.value[above] == pytest.approx(0.5 * np.log((1 + r) / (1 - r)), rel=1e-9)
        assert trees.value[above - 1] == 0.0
        scores += trees.value[above] * answers
    np.testing.assert_allclose(ranker.predict(data.X), scores, rtol=1e-9, atol=1e-12)


def test_missing_values_go_where_they_help():
    X = np.array([[np.nan], [1.0], [np.nan], [2.0]])
    for labels in ([1, 0, 1, 0], [0, 1, 0, 1]):
        scores = rankgrove.RankBoost(n_estimators=2).fit(X, labels, qid=[1, 1, 2, 2]).predict(X)
        assert (np.sign(scores[[0, 2]] - scores[[1, 3]]) == (1 if labels[0] else -1)).all()


def test_training_pairs_come_into_order():
    data = make_ranking(20, docs_per_query=10, n_features=8, seed=4)
    ranker = rankgrove.RankBoost(n_estimators=60).fit(data)
    offsets = np.r_[0, np.cumsum(data.group_sizes)]
    losses = []
    for scores in ranker.staged_predict(data):
        weights = rankboost_distribution(np.zeros(len(scores)), data.y, offsets)
        losses.append(sum(w * np.exp(scores[j] - scores[i]) for (i, j), w in weights.items()))
    assert (np.diff(losses) < 1e-9).all()
