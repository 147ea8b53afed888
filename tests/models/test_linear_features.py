"""Features as linear models see them."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.data.core.queries import QueryGroups
from rankgrove.models.linear_features import NORMALISATIONS, LinearFeatures

LARGEST = float(np.finfo(np.float32).max)


def matrix(n=37, n_features=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[3, 1], X[4, 1] = np.inf, -np.inf
    X[:, 3] = 0.1  # whose mean is not exact
    return X


def expected(X, fill, groups, normalisation):
    """Filled, finite and normalised, in grouped order."""
    values = np.clip(np.where(np.isnan(X), fill, X).astype(np.float64), -LARGEST, LARGEST)
    values = groups.grouped(values)
    for begin, end in zip(groups.offsets[:-1], groups.offsets[1:], strict=True):
        part = values[begin:end]
        if normalisation == "none" or begin == end:
            continue
        low, spread = part.min(axis=0), part.max(axis=0) - part.min(axis=0)
        varies = spread > 0
        if normalisation == "query-zscore":
            low, spread = part.mean(axis=0), part.std(axis=0)
        values[begin:end] = np.where(varies, (part - low) / np.where(varies, spread, 1.0), 0.0)
    return values


@pytest.fixture(params=NORMALISATIONS)
def normalisation(request):
    return request.param


@pytest.fixture(params=["grouped", "interleaved"])
def groups(request):
    if request.param == "grouped":
        return QueryGroups.from_sizes([1, 0, 10, 26])
    return QueryGroups.from_qid(np.arange(37) % 4)


def test_scores_sums_and_columns_are_those_of_the_plain_matrix(groups, normalisation):
    X, fill = matrix(), np.array([0, 1, 2, 3, 0.5], np.float32)
    plain = expected(X, fill, groups, normalisation)
    weights, factors = np.arange(5.0) - 2, np.random.default_rng(1).normal(size=37)
    features = LinearFeatures.of(X, fill, groups, normalisation, training=True)
    np.testing.assert_allclose(features.scores(weights), plain @ weights, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(features.sums(factors), factors @ plain, rtol=1e-12, atol=1e-12)
    for feature in range(5):
        np.testing.assert_allclose(
            features.column(feature), plain[:, feature], rtol=1e-12, atol=1e-12
        )
    forgetful = LinearFeatures.of(X, fill, groups, normalisation, training=False)
    np.testing.assert_array_equal(forgetful.scores(weights), features.scores(weights))


def test_spreads_are_standard_deviations_within_queries(groups, normalisation):
    X, fill = np.nan_to_num(matrix(), posinf=9, neginf=-9), np.zeros(5, np.float32)
    plain = expected(X, fill, groups, normalisation)
    squares = np.zeros(5)
    for begin, end in zip(groups.offsets[:-1], groups.offsets[1:], strict=True):
        part = plain[begin:end]
        squares += ((part - part.mean(axis=0)) ** 2).sum(axis=0) if len(part) else 0
    features = LinearFeatures.of(X, fill, groups, normalisation, training=True)
    spreads = features.spreads()
    np.testing.assert_allclose(spreads, np.sqrt(squares / 37), rtol=1e-12, atol=1e-9)
    assert spreads[3] == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_and_threads_do_not_change_a_bit(groups, normalisation, dtype):
    X, fill = matrix().astype(dtype), np.zeros(5, np.float32)
    wide = np.zeros((37, 10), dtype)
    wide[:, ::2] = X
    weights, factors = np.linspace(-1, 1, 5), np.linspace(-2, 2, 37)
    results = []
    for layout in (X, np.asfortranarray(X), wide[:, ::2]):
        for n_jobs in (1, 3):
            features = LinearFeatures.of(
                layout, fill, groups, normalisation, n_jobs=n_jobs, training=True
            )
            results.append((features.scores(weights), features.sums(factors)))
    for scores, sums in results[1:]:
        np.testing.assert_array_equal(scores, results[0][0])
        np.testing.assert_array_equal(sums, results[0][1])


def test_the_matrix_lives_as_long_as_its_features():
    features = LinearFeatures.of(np.ones((1000, 50), np.float32), np.zeros(50, np.float32))
    others = [np.full((1000, 50), number, np.float32) for number in range(20)]
    np.testing.assert_array_equal(features.scores(np.ones(50)), np.full(1000, 50.0))
    assert len(others) == 20


def test_one_row_scores_as_in_company():
    X, fill, weights = matrix(1000, 9), np.zeros(9, np.float32), np.linspace(-1, 1, 9)
    together = LinearFeatures.of(X, fill).scores(weights)
    alone = np.concatenate(
        [LinearFeatures.of(X[i : i + 1], fill).scores(weights) for i in range(9)]
    )
    np.testing.assert_array_equal(alone, together[:9])
