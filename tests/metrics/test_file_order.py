"""Ties know no labels: a constant score is worth what it is worth in random order."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.data.core.queries import QueryGroups
from rankgrove.metrics.file_order import file_order
from rankgrove.metrics.registry import metric_names

SIZES = np.full(200, 12)


def by_relevance(seed=0):
    """Labels of queries whose documents stand in order of relevance."""
    labels = np.random.default_rng(seed).integers(0, 3, (len(SIZES), SIZES[0]))
    return np.sort(labels, axis=1)[:, ::-1].ravel().astype(float)


def shuffled(y, seed=1):
    rng = np.random.default_rng(seed)
    return rng.permuted(y.reshape(len(SIZES), -1), axis=1).ravel()


@pytest.mark.parametrize(
    "name", [n for n in metric_names() if n not in ("rmse", "tau", "filtered-dcg")]
)
def test_a_constant_score_is_worth_the_same_in_every_order_of_rows(name):
    y, scores = by_relevance(), np.zeros(SIZES.sum())
    metric = rankgrove.metric(name)
    value = metric(y, scores, group_sizes=SIZES)
    assert metric(shuffled(y), scores, group_sizes=SIZES) == pytest.approx(value, rel=1e-12)


def test_a_function_of_ranked_labels_sees_ties_in_an_order_that_knows_no_labels():
    @rankgrove.register_metric("top-label", of="ranked")
    def top_label(labels):
        return float(labels[0])

    y, scores = by_relevance(), np.zeros(SIZES.sum())
    metric = rankgrove.metric("top-label")
    values = metric.per_query(y, scores, group_sizes=SIZES)
    assert values.mean() == pytest.approx(y.mean(), abs=0.2)  # in the order of rows: 2
    # A part of the queries, with shorter ids, has the values that it has among all.
    ids = np.array([f"query {number}" for number in range(len(SIZES))])
    qid = np.repeat(ids, SIZES)
    whole = metric.per_query(y, scores, qid=qid)
    part = metric.per_query(y[: 9 * 12], scores[: 9 * 12], qid=qid[: 9 * 12].astype(str))
    np.testing.assert_array_equal(part, whole[:9])


def test_file_order_of_labels_beyond_an_exponential_gain():
    groups = QueryGroups.from_sizes(SIZES)
    found = file_order(30 * by_relevance(), groups)
    assert found.predicts_labels
    assert found.in_file_order == pytest.approx(1.0)


def test_file_order_that_predicts_labels_is_found():
    groups = QueryGroups.from_sizes(SIZES)
    y = by_relevance()
    found = file_order(y, groups)
    assert found.predicts_labels
    assert found.in_file_order == pytest.approx(1.0)
    assert found.in_random_order < 0.7
    assert "predicts labels: a constant score gets 1.000 NDCG@10 in this order" in str(found)
    assert not file_order(shuffled(y), groups).predicts_labels
    assert file_order(y[::-1].copy(), groups).predicts_labels  # worst first
    assert not file_order(np.zeros(len(y)), groups).predicts_labels
    assert not file_order(y[:12], QueryGroups.from_sizes(SIZES[:1])).predicts_labels
