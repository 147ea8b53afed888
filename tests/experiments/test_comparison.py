"""Measuring one contestant."""

from __future__ import annotations

import pytest

from rankgrove import LambdaMART, RFPoint
from rankgrove.experiments.comparison import measure_ranker, measure_scores


@pytest.fixture(scope="module")
def split(small_data):
    queries = list(range(small_data.n_queries))
    return [small_data.select_queries(queries[part::3]) for part in range(3)]


def test_boosted_ranker_sees_the_validation_data(split):
    ranker = LambdaMART(n_estimators=60, max_leaf_nodes=15, random_state=1)
    result = measure_ranker("mine", ranker, *split, ["ndcg@10", "map"], early_stopping_rounds=5)
    assert result.name == "mine"
    assert result.n_steps == ranker.best_iteration_ < 60
    assert result.metrics["map"] == pytest.approx(ranker.score(split[2], metric="map"))
    assert result.fit_seconds > 0
    assert result.score_microseconds > 0
    assert result.convergence.values[-1] == pytest.approx(result.metrics["ndcg@10"])
    assert ranker.n_jobs is None


def test_forest_is_measured_without_validation(split):
    result = measure_ranker("rf", RFPoint(n_estimators=3, random_state=1), *split, ["ndcg@10"])
    assert result.n_steps == 3


def test_single_feature(split):
    result = measure_scores("labels", split[2].y, split[2], ["ndcg@10(empty=skip)"])
    assert result.metrics == {"ndcg@10(empty=skip)": pytest.approx(1.0)}
    assert result.fit_seconds is result.convergence is None
