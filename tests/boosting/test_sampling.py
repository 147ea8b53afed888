"""Samples of the rows of a tree: by random weights, by gradients, and of hard negatives."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove import _native
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.hard_negatives import HardNegatives
from rankgrove.boosting.objectives.lambdamart import LambdaGradients
from rankgrove.boosting.sampling import (
    BayesianBootstrap,
    GradientSampling,
    MinimalVariance,
    RowSampler,
    _largest,
)
from rankgrove.data.core.queries import QueryGroups
from rankgrove.workers.row_shard import RowShard

SIZES = [7, 0, 40, 1, 12]
N = sum(SIZES)


def sampler(kind, *options, seed=5, sizes=SIZES):
    groups = QueryGroups.from_sizes(np.array(sizes))
    return kind(groups, RowShard.of(groups.offsets), seed, *options)


def gradients_of(n=N, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(n_outputs, n)).astype(np.float32)
    g[:, :: max(2, n // 5)] = 0
    return g, rng.gamma(1, 1, (n_outputs, n)).astype(np.float32)


def test_bayesian_weights_are_powers_of_exponential_numbers():
    weights = []
    for iteration in range(400):
        g, h = np.ones((1, N), np.float32), np.ones((1, N), np.float32)
        assert sampler(BayesianBootstrap, 2.0).draw(iteration, g, h) is None
        np.testing.assert_array_equal(g, h)
        weights.append(h[0])
    drawn = np.sqrt(np.concatenate(weights))  # exponential: mean 1, variance 1
    assert drawn.mean() == pytest.approx(1.0, abs=0.03)
    assert drawn.var() == pytest.approx(1.0, abs=0.06)


def test_bayesian_weights_of_queries_are_the_same_for_their_documents():
    g, h = gradients_of()
    before = g.copy()
    sampler(BayesianBootstrap, 1.0, "queries").draw(3, g, h)
    used = before[0] != 0
    for rows in np.split(np.arange(N), np.cumsum(SIZES)[:-1]):
        weight = (g[0] / np.where(used, before[0], 1))[rows][used[rows]]
        assert len(weight) == 0 or np.ptp(weight) < 1e-5
    g2, h2 = gradients_of()
    sampler(BayesianBootstrap, 0.0, "queries").draw(3, g2, h2)
    np.testing.assert_array_equal(g2, before)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_goss_keeps_large_gradients_and_weighs_a_part_of_the_others(n_outputs):
    g, h = gradients_of(1000, n_outputs)
    old_g, old_h = g.copy(), h.copy()
    rows = sampler(GradientSampling, 0.2, 0.1, sizes=[1000]).draw(1, g, h)
    size = np.abs(old_g).sum(axis=0)
    top = np.argsort(-size, kind="stable")[:200]
    assert {*top} <= {*rows}
    others = np.setdiff1d(rows, top)
    assert 50 < len(others) < 150
    np.testing.assert_array_equal(g[:, top], old_g[:, top])
    np.testing.assert_allclose(g[:, others], 8 * old_g[:, others], rtol=1e-6)
    np.testing.assert_allclose(h[:, others], 8 * old_h[:, others], rtol=1e-6)


def test_goss_takes_documents_that_tie_with_the_last_and_no_zeros():
    g = np.float32([[3, -2, 2, 2, 1, 1, 1, 1, 1, 1]])
    rows = sampler(GradientSampling, 0.2, 1e-9, sizes=[10]).draw(0, g, np.ones_like(g))
    assert rows.tolist() == [0, 1, 2, 3]
    g = np.float32([[3, 0, 0, 0]])
    rows = sampler(GradientSampling, 0.5, 1e-9, sizes=[4]).draw(0, g, np.ones_like(g))
    assert rows.tolist() == [0]


@pytest.mark.parametrize("seed", range(5))
def test_the_value_of_a_rank_is_that_of_sorting(seed):
    rng = np.random.default_rng(seed)
    values = np.abs(np.round(rng.normal(size=300), seed)).astype(np.float32)
    shard = RowShard.of(np.array([0, 300]))
    for rank in (1, 2, 17, 150, 299, 300):
        assert _largest(values, rank, shard)[0] == np.sort(values)[::-1][rank - 1]


@pytest.mark.parametrize(("part", "regularisation"), [(0.3, 0.1), (0.8, 0.0), (0.05, 2.0)])
def test_mvs_keeps_the_expected_part_by_its_formula(part, regularisation):
    old_g, old_h = gradients_of(2000)
    s = old_g[0].astype(float) ** 2
    s += regularisation * s.sum() / (old_h[0].astype(float) ** 2).sum() * old_h[0] ** 2
    s = np.sqrt(s)
    low, high = 1e-9, 1e3
    for _ in range(100):
        mu = (low + high) / 2
        low, high = (mu, high) if np.minimum(1, s / mu).sum() > part * 2000 else (low, mu)
    chance = np.minimum(1, s / mu)
    kept = np.zeros(2000)
    for iteration in range(200):
        g, h = old_g.copy(), old_h.copy()
        rows = sampler(MinimalVariance, part, regularisation, sizes=[2000]).draw(iteration, g, h)
        kept[rows] += 1
        np.testing.assert_allclose(g[0, rows], old_g[0, rows] / chance[rows], rtol=1e-4)
        np.testing.assert_allclose(h[0, rows], old_h[0, rows] / chance[rows], rtol=1e-4)
    assert kept.sum() / 200 == pytest.approx(part * 2000, rel=0.03)
    np.testing.assert_allclose(kept / 200, chance, atol=0.16)


def test_mvs_without_gradients_takes_everything():
    g, h = np.zeros((1, 9), np.float32), np.zeros((1, 9), np.float32)
    assert sampler(MinimalVariance, 0.5, sizes=[9]).draw(0, g, h) is None


def test_uniform_samples_leave_gradients_alone():
    assert not sampler(RowSampler, 0.5).weighs
    g, h = gradients_of()
    old = g.copy()
    sampler(RowSampler, 0.5, "documents").draw(0, g, h)
    np.testing.assert_array_equal(g, old)


def lists(seed=2):
    rng = np.random.default_rng(seed)
    offsets = np.r_[0, np.cumsum(SIZES)].astype(np.int64)
    y = rng.integers(-1, 3, N).astype(float)
    return TrainingData(np.maximum(y, 0), offsets, seed=1), rng.normal(size=(1, N)).round(1)


def selected_by_definition(data, scores, share):
    rows = []
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        negative = [i for i in range(begin, end) if data.y[i] <= 0]
        best = sorted(negative, key=lambda i: (-scores[0, i], i))
        kept = best[: int(np.ceil(share * len(negative)))]
        rows += sorted({*range(begin, end)} - {*negative} | {*kept})
    return rows


@pytest.mark.parametrize("share", [0.01, 0.3, 0.99])
def test_hard_negatives_are_those_that_are_scored_best(share):
    data, scores = lists()
    objective = HardNegatives(data, LambdaGradients, share, rounds=3)
    objective.prepare(scores, 3)
    rows = selected_by_definition(data, scores, share)
    assert objective.rows.tolist() == rows
    g, h = np.full((2, 1, N), 9, np.float32)
    objective.gradients(scores, g, h, 0)
    others = np.setdiff1d(np.arange(N), rows)
    assert not g[:, others].any()
    assert not h[:, others].any()
    counts = [
        int(((np.array(rows) >= a) & (np.array(rows) < b)).sum())
        for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)
    ]
    shorter = TrainingData(data.y[rows], np.r_[0, np.cumsum(counts)].astype(np.int64), seed=1)
    want = np.zeros((2, 1, len(rows)), np.float32)
    LambdaGradients(shorter).gradients(np.ascontiguousarray(scores[:, rows]), *want, 0)
    np.testing.assert_array_equal(g[:, rows], want[0])
    np.testing.assert_array_equal(h[:, rows], want[1])


def test_hard_negatives_are_selected_anew_when_it_is_time():
    data, scores = lists()
    objective = HardNegatives(data, LambdaGradients, 0.3, rounds=3)
    for iteration in (0, 1, 2):
        objective.prepare(scores, iteration)
        assert len(objective.rows) == N
    objective.prepare(scores, 3)
    first = objective.rows
    for iteration in (4, 5):
        objective.prepare(-scores, iteration)
        np.testing.assert_array_equal(objective.rows, first)
    objective.prepare(-scores, 6)
    assert objective.rows.tolist() == selected_by_definition(data, -scores, 0.3)
    assert objective.rows.tolist() != first.tolist()


@pytest.mark.parametrize("seed", [0, 7, 2**31 - 2, 2**40 + 1])
@pytest.mark.parametrize(
    ("total", "size"),
    [(1, 1), (5, 0), (5, 2), (5, 5), (471, 306), (10_000, 9_000), (10_001, 500), (10_001, 501)],
)
def test_draws_are_those_of_numpy(seed, total, size):
    for stream in (0, 1, 99, 2**33):
        rng = np.random.default_rng([seed, stream])
        drawn = rng.choice(total, size, replace=False, shuffle=False)
        np.testing.assert_array_equal(_native.numpy_draw(seed, stream, total, size), np.sort(drawn))


def test_draws_of_more_than_there_are_and_rows_of_no_query_are_refused():
    for total, size in [(3, 4), (3, -1), (2**31, 1)]:
        with pytest.raises(ValueError, match="size must be between 0 and total"):
            _native.numpy_draw(1, 2, total, size)
    offsets = np.array([0, 2, 5])
    assert _native.rows_of_queries(offsets, np.array([1, 0])).tolist() == [2, 3, 4, 0, 1]
    for query in (-1, 2):
        with pytest.raises(ValueError, match="a query that is not there"):
            _native.rows_of_queries(offsets, np.array([query]))
    with pytest.raises(ValueError, match="offsets must ascend"):
        _native.rows_of_queries(np.array([0, -2, 5]), np.array([0]))
