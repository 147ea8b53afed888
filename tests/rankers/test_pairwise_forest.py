"""RF-pair: the pairs that its trees see, and its scores."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.forests.pairs import sample_pairs
from rankgrove.models import pairs
from rankgrove.models.pairs import all_pairs
from rankgrove.rankers.base.registry import make_ranker


def test_sampled_pairs_are_distinct_and_of_different_labels():
    rng = np.random.default_rng(0)
    sizes = np.array([1, 5, 0, 40, 2, 300])
    offsets = np.r_[0, np.cumsum(sizes)]
    y = rng.integers(0, 3, offsets[-1]).astype(float)
    y[offsets[4] : offsets[5]] = 1.0  # nothing to prefer
    pairs = sample_pairs(y, offsets, 50, seed=1)
    query = np.repeat(np.arange(6), sizes)
    assert (query[pairs.first] == query[pairs.second]).all()
    assert ((y[pairs.first] > y[pairs.second]) == pairs.first_wins).all()
    assert (y[pairs.first] != y[pairs.second]).all()
    low, high = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    assert len(set(zip(low, high, strict=True))) == len(low)
    assert 0.3 < pairs.first_wins.mean() < 0.7
    possible = [
        sum(
            1
            for i in range(offsets[q], offsets[q + 1])
            for j in range(offsets[q], i)
            if y[i] != y[j]
        )
        for q in range(6)
    ]
    assert list(pairs.per_query) == [min(50, n) for n in possible if n]


def test_all_pairs_are_all_ordered_pairs():
    offsets = np.array([0, 3, 3, 4, 9])
    blocks = list(all_pairs(offsets, 7))
    found = [(int(i), int(j)) for a, b in blocks for i, j in zip(a, b, strict=True)]
    expected = [
        (i, j)
        for start, stop in ((0, 3), (3, 4), (4, 9))
        for i in range(start, stop)
        for j in range(start, stop)
        if i != j
    ]
    assert sorted(found) == sorted(expected)


def test_pairwise_scores_are_mean_chances_of_winning(small_data):
    forest = make_ranker("rf-pair", n_estimators=5, random_state=0).fit(small_data)
    scores = forest.predict(small_data)
    start, stop = small_data.groups.offsets[:2]
    X = small_data.X[start:stop]
    chance = forest.model_.trees.compile()
    for i in range(stop - start):
        games = [
            (chance.predict(X[[i]] - X[[j]])[0] + 1 - chance.predict(X[[j]] - X[[i]])[0]) / 2
            for j in range(stop - start)
            if j != i
        ]
        assert scores[start + i] == pytest.approx(np.mean(games), abs=1e-12)
    for q in range(3):
        mine = slice(small_data.groups.offsets[q], small_data.groups.offsets[q + 1])
        assert scores[mine].mean() == pytest.approx(0.5, abs=1e-12)


def test_wide_documents_are_compared_a_few_pairs_at_a_time(small_data, monkeypatch):
    ranker = make_ranker("rf-pair", n_estimators=3, random_state=0).fit(small_data)
    expected = ranker.predict(small_data)
    widest = []
    monkeypatch.setattr(pairs, "_BLOCK_VALUES", 100 * small_data.n_features)
    compared = pairs.differences

    def differences(X, first, second, categorical=()):
        widest.append(len(first))
        return compared(X, first, second)

    monkeypatch.setattr(pairs, "differences", differences)
    np.testing.assert_allclose(ranker.predict(small_data), expected, rtol=1e-12)
    assert max(widest) <= max(100, int(small_data.group_sizes.max()))
