"""Regression EM and trust bias: recovery of the simulated truth, and what has no answer."""

import numpy as np
import pytest

import rankgrove
from rankgrove import DataError
from rankgrove.clicks import estimate_trust_bias, propensities_by_regression
from rankgrove.datasets import make_ranking, simulate_clicks


@pytest.fixture(scope="module")
def judged():
    return make_ranking(40, preset="letor4", seed=7)


def clicks_of(judged, log, features):
    return rankgrove.Dataset(
        features[log["row"].to_numpy()],
        log["clicked"].to_numpy().astype(float),
        log["session"].to_numpy().astype(np.int64),
        position=log["position"].to_numpy(),
    )


@pytest.mark.slow
def test_regression_tells_examination_within_5_percent(judged):
    """Relevance is a function of the features, which do not determine the position."""
    log = simulate_clicks(judged, n_sessions=50_000, top_k=5, exploration=1.0,
                          ranker=judged.y + judged.X[:, 1], seed=3)  # fmt: skip
    data = clicks_of(judged, log, np.c_[judged.y, judged.X[:, :3]].astype(np.float32))
    found = propensities_by_regression(data)
    np.testing.assert_allclose(found.examination, 1 / np.arange(1, 6), rtol=0.05)
    assert found.method == "regression EM"
    assert found.support.sum() == data.n_rows


def test_regression_needs_positions_and_clicks(judged):
    with pytest.raises(DataError, match="a Dataset with positions"):
        propensities_by_regression(judged)
    nothing = rankgrove.Dataset(judged.X, 0 * judged.y, judged.qid, position=np.ones(judged.n_rows))
    with pytest.raises(DataError, match="some of them 1"):
        propensities_by_regression(nothing)


@pytest.mark.slow
def test_trust_bias_tells_slopes(judged):
    log = simulate_clicks(judged, n_sessions=60_000, top_k=4, model="trust", exploration=2.0,
                          ranker=judged.y + judged.X[:, 1], seed=1)  # fmt: skip
    found = estimate_trust_bias(log.drop(["row", "propensity"]))
    k = np.arange(1, 5)
    slopes = (1 - 0.65 / k) / k
    np.testing.assert_allclose(found.alpha / found.alpha[0], slopes / slopes[0], rtol=0.1)
    assert np.shape(found.pairs()) == (4, 2)


def test_trust_bias_needs_changes_of_rank(judged):
    log = simulate_clicks(judged, n_sessions=3000, top_k=2, model="trust", seed=1,
                          ranker=judged.X[:, 1])  # fmt: skip
    with pytest.raises(DataError, match="cannot be told from relevance"):
        estimate_trust_bias(log.drop(["row", "propensity"]))
