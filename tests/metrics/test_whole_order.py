"""Spearman, information coefficient and pair accuracy: real-valued labels, the whole order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

import rankgrove
from rankgrove import metric

NAMES = ["spearman", "ic", "pair-accuracy"]
CORRELATIONS = {"spearman": spearmanr, "ic": pearsonr}


def pair_accuracy(labels, scores):
    """Every pair of different labels counts 1, 1/2 or 0."""
    right = [
        0.5 + 0.5 * np.sign((labels[i] - labels[j]) * (scores[i] - scores[j]))
        for i, j in itertools.combinations(range(len(labels)), 2)
        if labels[i] != labels[j]
    ]
    return float(np.mean(right))


def expected_value(name, labels, scores):
    """The value of a query by definition; NaN if its labels are all equal."""
    if len(set(labels)) <= 1:
        return np.nan
    if name == "pair-accuracy":
        return pair_accuracy(labels, scores)
    if len(set(scores)) == 1:
        return 0.0
    return CORRELATIONS[name](scores, labels).statistic


def queries(seed, *, ties):
    """Labels, scores and shuffled query ids; some queries have one document or one label."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(80), rng.integers(1, 25, 80)))
    y, scores = rng.normal(size=(2, len(qid)))
    if ties:
        y, scores = np.round(2 * y) / 2, np.round(2 * scores) / 2
    y[qid % 9 == 4] = -0.1
    scores[qid % 11 == 5] = 0.1
    return y, scores, qid


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_scipy_and_of_counted_pairs(name, ties):
    y, scores, qid = queries(3, ties=ties)
    ids = list(dict.fromkeys(qid))
    expected = [expected_value(name, y[qid == q], scores[qid == q]) for q in ids]
    assert np.isnan(expected).any()
    values = metric(name).per_query(y, scores, qid=qid)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)
    assert metric(name)(y, scores, qid=qid) == pytest.approx(np.nanmean(expected), abs=1e-12)
    with_zeros = metric(name, empty=0)(y, scores, qid=qid)
    assert with_zeros == pytest.approx(np.nan_to_num(expected).mean(), abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*every label is")
@pytest.mark.parametrize("name", NAMES)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=7))
def test_any_small_query_follows_the_definition(name, documents):
    y, scores = (np.array(column, float) for column in zip(*documents, strict=True))
    value = metric(name).per_query(y, scores, group_sizes=[len(y)])[0]
    np.testing.assert_allclose(value, expected_value(name, y, scores), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_number_of_threads_changes_no_bit(name):
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(400), 250)
    y, scores = rng.normal(size=(2, len(qid)))
    one, three = (metric(name).per_query(y, scores, qid=qid, n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_size_of_scores_and_labels_does_not_change_the_correlation(scale, offset):
    rng = np.random.default_rng(1)
    y, scores = rng.integers(-8, 8, (2, 30)).astype(float)
    value = metric("ic")(scale * (y + offset), scale * (scores + offset), group_sizes=[30])
    assert value == pytest.approx(pearsonr(scores, y).statistic, abs=1e-9)


def test_infinite_scores_have_ranks_but_no_correlation():
    y, scores, sizes = [0.0, 1.0, 0.5, 2.0], [0.0, 1.0, 2.0, np.inf], [2, 2]
    assert metric("spearman")(y, scores, group_sizes=sizes) == 1
    assert metric("pair-accuracy")(y, scores, group_sizes=sizes) == 1
    with pytest.raises(ValueError, match="score of row 3 is infinite"):
        metric("ic")(y, scores, group_sizes=sizes)
    with pytest.raises(ValueError, match="ic: label of row 3 is too far from the others"):
        metric("ic")([0, 1, -1.7e308, 1.7e308], [0, 1, 2, 3], group_sizes=sizes)


@pytest.mark.parametrize("name", NAMES)
def test_early_stopping_keeps_the_best_iteration(name):
    data = rankgrove.datasets.make_ranking(n_queries=40, seed=0)
    train, valid = data.select_queries(range(30)), data.select_queries(range(30, 40))
    ranker = rankgrove.GBRT(n_estimators=60, learning_rate=0.5)
    ranker.fit(train, eval_set=valid, eval_metric=name, early_stopping_rounds=3)
    history = ranker.evals_result_["valid"][name]
    assert ranker.best_iteration_ == int(np.argmax(history)) + 1
    assert len(history) == ranker.best_iteration_ + 3 < 60
    assert ranker.score(valid, metric=name) == pytest.approx(max(history))
