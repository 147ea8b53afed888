"""The synthetic collections have the shape that they claim."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.datasets import make_ranking

PRESETS = {
    "mslr": (136, [0.52, 0.32, 0.13, 0.02, 0.01], 120),
    "letor4": (46, [0.81, 0.13, 0.06], 19.4),
    "yahoo": (519, [0.26, 0.36, 0.28, 0.08, 0.02], 24),
    None: (20, [0.5, 0.25, 0.15, 0.07, 0.03], 20),
}


@pytest.fixture(scope="module")
def mslr():
    return make_ranking(150, preset="mslr", seed=3)


@pytest.mark.parametrize("preset", PRESETS)
def test_shape_grades_and_lengths_follow_the_preset(preset):
    n_features, shares, mean_length = PRESETS[preset]
    data = make_ranking(200, preset=preset, seed=5)
    assert data.X.shape == (len(data.y), n_features)
    assert data.X.dtype == np.float32
    assert data.X.flags.c_contiguous
    assert np.isfinite(data.X).all()
    assert len(set(data.feature_names)) == n_features
    assert data.n_queries == 200
    assert np.bincount(data.y.astype(int)) / len(data.y) == pytest.approx(shares, abs=0.002)
    assert data.group_sizes.mean() == pytest.approx(mean_length, rel=0.25)
    assert data.group_sizes.max() > 2 * data.group_sizes.mean()


def test_seed_decides_everything():
    first, again, other = (make_ranking(20, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert not np.array_equal(first.y, other.y)


def test_features_are_of_every_kind(mslr):
    zero_share = (mslr.X == 0).mean(axis=0)
    assert 0.3 < zero_share.mean() < 0.5
    assert zero_share.max() > 0.9
    distinct = np.array([len(np.unique(column)) for column in mslr.X.T])
    assert (distinct < 10).sum() >= 8
    assert (distinct > 1000).sum() >= 30
    whole_numbers = (np.rint(mslr.X) == mslr.X).all(axis=0)
    assert whole_numbers.sum() >= 30
    tail = np.quantile(mslr.X, 0.999, axis=0) / np.maximum(np.median(mslr.X, axis=0), 1)
    assert tail.max() > 100
    starts = np.r_[0, np.cumsum(mslr.group_sizes)[:-1]]
    spread = np.maximum.reduceat(mslr.X, starts) - np.minimum.reduceat(mslr.X, starts)
    names = np.array(mslr.feature_names)
    # Sums of the same terms over different rows: equal within a query.
    assert list(names[(spread == 0).all(axis=0)]) == [
        f"idf_{stream}" for stream in ("body", "anchor", "title", "url", "whole")
    ]


def test_text_features_of_a_stream_are_correlated(mslr):
    column = {name: mslr.X[:, j] for j, name in enumerate(mslr.feature_names)}
    within = np.corrcoef(column["tf_sum_body"], column["tfidf_sum_body"])[0, 1]
    across = np.corrcoef(column["tf_sum_body"], column["tfidf_sum_anchor"])[0, 1]
    assert within > 0.8 > across


def test_letor_features_are_scaled_within_queries():
    data = make_ranking(40, preset="letor4", seed=2)
    assert data.X.min() == 0
    assert data.X.max() <= 1.000001
    for rows in np.split(data.X, np.cumsum(data.group_sizes)[:-1]):
        varied = np.ptp(rows, axis=0) > 0
        assert rows[:, varied].max(axis=0) == pytest.approx(1, abs=1e-5)


def test_noise_weakens_what_features_tell():
    def strongest(noise):
        data = make_ranking(150, preset="letor4", noise=noise, seed=4)
        varied = data.X[:, np.ptp(data.X, axis=0) > 0]
        return np.abs(np.corrcoef(varied.T, data.y)[-1, :-1]).max()

    assert strongest(0.0) > strongest(1.0) > strongest(10.0)


def test_features_can_be_thinned_and_extended():
    few = make_ranking(10, preset="mslr", n_features=7, seed=1)
    many = make_ranking(10, preset="mslr", n_features=200, seed=1)
    assert few.X.shape[1] == len(set(few.feature_names)) == 7
    assert many.X.shape[1] == len(set(many.feature_names)) == 200


def test_missing_share():
    data = make_ranking(100, missing=0.3, seed=1)
    assert np.isnan(data.X).mean() == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"preset": "web30k"}, "unknown preset 'web30k'"),
        ({"n_queries": 0}, "n_queries must be at least 1, not 0"),
        ({"n_features": 0}, "n_features"),
        ({"docs_per_query": float("nan")}, "docs_per_query"),
        ({"grade_shares": [0.5, 0.4]}, "add up to 1"),
        ({"noise": -1.0}, "noise"),
        ({"missing": 1.0}, "missing"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_ranking(**arguments)
