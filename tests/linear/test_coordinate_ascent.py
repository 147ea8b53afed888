"""Coordinate ascent."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, docs_per_query=15, n_features=8, seed=5)


@pytest.mark.parametrize("metric", ["ndcg@10", "map", "err", "mrr@5"])
def test_the_training_metric_never_falls(data, metric):
    averaged = rankgrove.metric(metric, ties="average")
    ranker = rankgrove.CoordinateAscent(metric=metric, random_state=1, tolerance=0, max_passes=6)
    ranker.fit(data, eval_set={"train": data}, eval_metric=averaged)
    values = ranker.evals_result_["train"][str(averaged)]
    assert len(values) > 2
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] > values[0]
    assert ranker.score(data, metric=averaged) == pytest.approx(values[-1], abs=1e-12)


@pytest.mark.parametrize("seed", range(40, 48))
def test_what_ties_by_rounding_does_not_count(seed):
    """Scores of few values tie often, and differently if they were added up in another order."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (120, 6)) / (10 if seed % 2 else 1)
    y, qid = rng.integers(0, 3, 120), np.arange(120) // 10
    averaged = rankgrove.metric("map", ties="average")
    ranker = rankgrove.CoordinateAscent(metric="map", random_state=seed, tolerance=0, n_restarts=3)
    ranker.fit(X, y, qid=qid, eval_set={"train": (X, y, qid)}, eval_metric=averaged)
    values = ranker.evals_result_["train"][str(averaged)]
    assert (np.diff(values) >= -1e-12).all()


def test_first_pass_is_better_than_equal_weights(data):
    averaged = rankgrove.metric("ndcg@10", ties="average")
    ranker = rankgrove.CoordinateAscent(random_state=1, n_restarts=0, max_passes=1).fit(data)
    spread = np.concatenate(
        [data.X[data.qid == q] - data.X[data.qid == q].mean(axis=0) for q in np.unique(data.qid)]
    ).std(axis=0)
    varies = spread > 1e-6
    equal = data.X[:, varies] @ (1.0 / spread[varies])
    assert ranker.score(data, metric=averaged) > averaged(data.y, equal, qid=data.qid)


def test_a_restart_can_only_help(data):
    averaged = rankgrove.metric("ndcg@10", ties="average")
    one, three = (
        rankgrove.CoordinateAscent(random_state=1, n_restarts=n).fit(data) for n in (0, 3)
    )
    assert three.score(data, metric=averaged) >= one.score(data, metric=averaged)


def test_a_python_metric_is_raised(data):
    @rankgrove.register_metric("label-of-the-top-document", of="ranked")
    def top(labels):
        return float(labels[0])

    ranker = rankgrove.CoordinateAscent(
        metric="label-of-the-top-document", random_state=0, n_restarts=0, n_steps=5
    ).fit(data)
    by_label = ranker.score(data, metric="label-of-the-top-document")
    assert by_label > rankgrove.SingleFeature().fit(data).score(
        data, metric="label-of-the-top-document"
    )


def test_weights_do_not_depend_on_the_scale_of_features(data):
    plain = rankgrove.CoordinateAscent(random_state=0).fit(data)
    powers = 2.0 ** np.arange(8)
    scaled = rankgrove.CoordinateAscent(random_state=0).fit(
        data.X * powers.astype(np.float32), data.y, qid=data.qid
    )
    np.testing.assert_allclose(scaled.coef_ * powers, plain.coef_, rtol=1e-9)


def test_unknown_metrics_are_refused_by_name(data):
    with pytest.raises(ValueError, match=r"metric of CoordinateAscent .* not 'nothing@3'"):
        rankgrove.CoordinateAscent(metric="nothing@3").fit(data)
