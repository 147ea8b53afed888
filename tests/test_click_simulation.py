"""Simulated clicks follow the declared probabilities."""

import numpy as np
import pytest

from rankgrove import DataError
from rankgrove.datasets import make_ranking, simulate_clicks


@pytest.fixture(scope="module")
def judged():
    return make_ranking(30, preset="letor4", seed=5)


def arrays(table):
    return {name: table[name].to_numpy() for name in table.column_names if name != "document"}


@pytest.mark.parametrize("model", ["pbm", "trust"])
def test_rates_of_clicks_are_those_of_the_formula(judged, model):
    found = arrays(simulate_clicks(judged, n_sessions=50_000, model=model, top_k=5, seed=1))
    grade, k = judged.y[found["row"]], found["position"]
    r = 0.1 + 0.9 * (2**grade - 1) / (2 ** judged.y.max() - 1)
    trust = 0.65 / k if model == "trust" else 0 * k
    chance = ((1 - trust) * r + trust) / k
    for position in range(1, 6):
        for value in np.unique(judged.y):
            rows = (k == position) & (grade == value)
            n = rows.sum()
            error = np.sqrt(chance[rows].mean() / n)
            assert abs(found["clicked"][rows].mean() - chance[rows].mean()) < 5 * error
    np.testing.assert_allclose(found["propensity"], 1 / k)


def test_a_cascade_has_one_click_at_most(judged):
    found = arrays(simulate_clicks(judged, n_sessions=2_000, model="cascade", seed=1))
    clicks = np.bincount(found["session"].astype(int), found["clicked"])
    assert clicks.max() == 1


def test_lists_show_the_best_documents_of_the_ranker(judged):
    scores = judged.X[:, 3].astype(float)
    found = arrays(simulate_clicks(judged, n_sessions=50, ranker=scores, top_k=3, seed=1))
    for session in np.unique(found["session"]):
        rows = found["row"][found["session"] == session]
        query = np.flatnonzero(judged.qid == judged.qid[rows[0]])
        best = np.sort(scores[query])[::-1][:3]
        np.testing.assert_array_equal(scores[rows], best)
        assert (judged.qid[rows] == judged.qid[rows[0]]).all()


def test_a_seed_gives_the_same_log(judged):
    one, same, other = (simulate_clicks(judged, n_sessions=20, seed=seed) for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "random"}, "model must be one of pbm"),
        ({"n_sessions": 0}, "n_sessions must be at least 1"),
        ({"noise": 2}, "noise must be between 0 and 1"),
        ({"bias": -1}, "bias must be a finite number"),
    ],
)
def test_bad_parameters_are_refused(judged, options, message):
    with pytest.raises(ValueError, match=message):
        simulate_clicks(judged, **{"n_sessions": 5} | options)


def test_scores_of_other_rows_are_refused(judged):
    with pytest.raises(DataError, match="ranker has"):
        simulate_clicks(judged, n_sessions=5, ranker=np.zeros(3))
