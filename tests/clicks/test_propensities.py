"""Propensities: recovery of the simulated examination probabilities, and what has no answer."""

import numpy as np
import pyarrow as pa
import pytest

from rankgrove import DataError
from rankgrove.clicks import (
    given_propensities,
    propensities_of_random_lists,
    propensities_of_rank_changes,
)
from rankgrove.datasets import make_ranking, simulate_clicks

TRUTH = 1 / np.arange(1, 6)


@pytest.fixture(scope="module")
def judged():
    return make_ranking(40, preset="letor4", seed=7)


def test_random_lists_tell_examination_within_5_percent(judged):
    clicks = simulate_clicks(judged, n_sessions=100_000, top_k=5, seed=1)
    np.testing.assert_allclose(propensities_of_random_lists(clicks).examination, TRUTH, rtol=0.05)


@pytest.mark.parametrize("exploration", [0.5, 2.0])
def test_rank_changes_tell_examination_within_5_percent(judged, exploration):
    clicks = simulate_clicks(judged, n_sessions=100_000, top_k=5, exploration=exploration,
                             ranker=judged.y + judged.X[:, 1], seed=1)  # fmt: skip
    found = propensities_of_rank_changes(clicks)
    np.testing.assert_allclose(found.examination, TRUTH, rtol=0.05)
    naive = propensities_of_random_lists(clicks)  # takes relevance for examination
    assert np.abs(naive.examination / TRUTH - 1).max() > np.abs(found.examination / TRUTH - 1).max()


def test_lists_that_never_change_have_no_answer(judged):
    clicks = simulate_clicks(judged, n_sessions=500, top_k=5, ranker=judged.X[:, 0], seed=1)
    with pytest.raises(DataError, match=r"no usable click|rank changes cannot tell"):
        propensities_of_rank_changes(clicks)


def test_a_position_without_clicks_is_named():
    log = pa.table({"query": ["q", "q"], "document": ["a", "b"], "position": [1, 2],
                    "clicked": [1, 0], "session": ["s", "s"]})  # fmt: skip
    with pytest.raises(DataError, match="position 2 has no usable click"):
        propensities_of_random_lists(log)


def test_given_propensities_are_looked_up_by_position():
    known = given_propensities([0.8, 0.4])
    np.testing.assert_allclose(known.of([2, 1]), [0.5, 1.0])
    with pytest.raises(DataError, match="position 3 has no propensity: there are 2"):
        known.of([1, 3])
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        given_propensities([1.0, 0.0])


def test_deep_lists_without_a_click_at_the_top_have_no_answer():
    columns = {
        "query": ["q", "q", "q"],
        "document": ["a", "b", "c"],
        "position": [1, 1, 2],
        "clicked": [1, 0, 1],
        "session": ["s", "t", "t"],
    }
    with pytest.raises(DataError, match="no list that reaches position 2 has a click at position"):
        propensities_of_random_lists(pa.table(columns))
