"""Metrics along a line of scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgrove
from rankgrove.data.input_checks import ranking_input
from rankgrove.datasets import make_ranking
from rankgrove.linear.line import LineMetric
from rankgrove.metrics.registry import metric_class, metric_names

METRICS = [name for name in metric_names() if not metric_class(name).of_probabilities]
OPTIONS = ["ndcg@10", "err@10", "p@3", "ndcg@40(ties=worst)", "map(ties=doc_id)"]


@pytest.mark.parametrize("name", [*METRICS, *OPTIONS])
def test_values_are_those_of_the_metric_at_each_step(name):
    data = ranking_input(make_ranking(20, docs_per_query=150, seed=4))
    metric = rankgrove.metric(name)
    line = LineMetric.of(metric, data, 2)
    rng = np.random.default_rng(0)
    scores, direction = rng.normal(size=(2, len(data.y)))
    direction = np.round(direction)  # ties at the far ends
    steps = np.sort(np.r_[rng.normal(size=6), 1e6, -1e6, 0.0])
    found = line.query_values(scores, direction, steps)
    for step, values in zip(steps, found, strict=True):
        plain = line.metric.per_query(data.y, scores + step * direction, groups=line.groups)
        np.testing.assert_array_equal(values, plain)


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(0, 1000), st.booleans())
def test_rankings_put_in_order_again_are_those_sorted_anew(n, seed, few_values):
    rng = np.random.default_rng(seed)
    scores, direction = rng.normal(size=(2, n))
    if few_values:
        scores, direction = np.round(scores), np.round(direction)
    y = np.r_[3, rng.integers(0, 3, n)]
    scores, direction = np.r_[0.5, scores], np.r_[0.5, direction]
    data = ranking_input(np.zeros((n + 1, 1)), y, qid=np.zeros(n + 1, int))
    line = LineMetric.of(rankgrove.metric("meanndcg(ties=worst)"), data, 1)
    steps = np.linspace(-3, 3, 13)
    found = line.query_values(scores, direction, steps)[:, 0]
    plain = [line.query_values(scores + s * direction, direction, np.zeros(1))[0, 0] for s in steps]
    np.testing.assert_array_equal(found, plain)


def test_order_of_the_data_does_not_help():
    """Sorted by label, a constant score must not look perfect."""
    data = ranking_input(np.zeros((4, 1)), [1.0, 1.0, 0.0, 0.0], qid=[1, 1, 1, 1])
    line = LineMetric.of(rankgrove.metric("ndcg@1"), data, 1)
    value = line.values(np.zeros(4), np.zeros(4), np.zeros(1))[0]
    assert value == pytest.approx(0.5)


def test_lower_is_better_turns_around():
    data = ranking_input(np.zeros((2, 1)), [0.0, 1.0], qid=[1, 1])
    line = LineMetric.of(rankgrove.metric("rmse"), data, 1)
    values = line.values(np.zeros(2), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert values[1] == 0.0
    assert values[0] < values[1]


def test_python_metrics_are_asked():
    @rankgrove.register_metric("first-label-of-line", of="ranked")
    def first(labels):
        return float(labels[0])

    data = ranking_input(np.zeros((2, 1)), [0.0, 1.0], qid=[1, 1])
    line = LineMetric.of(rankgrove.metric("first-label-of-line"), data, 1)
    values = line.values(np.zeros(2), np.array([0.0, 1.0]), np.array([-1.0, 1.0]))
    np.testing.assert_array_equal(values, [0.0, 1.0])


@pytest.mark.parametrize("name", ["single-feature", "coordinate-ascent", "adarank"])
def test_a_python_metric_does_not_see_the_order_of_the_data(name):
    """Files that are sorted by label make a feature that ties all documents look perfect."""

    @rankgrove.register_metric("share-of-the-top-label", of="ranked")
    def top(labels):
        return float(labels[0] / max(labels.max(), 1))

    rng = np.random.default_rng(0)
    qid, y = np.repeat(np.arange(40), 10), np.tile(np.arange(10)[::-1] // 4, 40)
    junk, good = np.zeros(400), y + rng.normal(0, 1.0, 400)
    junk[9::10] = -1e-3  # constant but for the last document
    ranker = rankgrove.make_ranker(name, metric="share-of-the-top-label", random_state=0)
    ranker.fit(np.c_[junk, good], y, qid=qid)
    drawn = rng.permutation(400)
    X, metric = np.c_[junk, good][drawn], "share-of-the-top-label"
    assert ranker.score(X, y[drawn], qid=qid[drawn], metric=metric) > 0.6
