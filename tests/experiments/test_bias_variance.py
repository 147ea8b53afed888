"""Bias and variance over training samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

import rankgrove
from rankgrove.experiments.bias_variance import bias_variance
from rankgrove.experiments.curve_studies import run_curve
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.running import Run
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import make_study


def curves(data, rankers, points=None, **options):
    options = {"folds": 3, "metrics": "ndcg@5", "repeats": 4, **options}
    with Store(None) as store:
        found, _ = run_curve("variance", make_study(data, rankers, **options), store, Run(), points)
    return {curve.name: curve for curve in found}


def test_loss_is_bias_and_variance_by_hand():
    rng = np.random.default_rng(0)
    sizes = [4, 7, 1, 5]
    qid = np.repeat(np.arange(4), sizes)
    y = rng.integers(0, 3, 17).astype(float)
    scores = np.round(rng.normal(size=(6, 17)), 1)  # some are equal
    data = rankgrove.Dataset(np.zeros((17, 1)), y, qid)
    queries = TestQueries.of(rankgrove.data.reading.folds.Fold(data, data, data))
    metric = rankgrove.metric("ndcg")
    found = bias_variance(metric, queries, scores)
    ranks = np.zeros(17)
    for row in scores:
        for query in range(4):
            ranks[qid == query] += rankdata(row[qid == query])
    right, mean = (metric.per_query(y, given, qid=qid) for given in (y, ranks))
    single = np.mean([metric.per_query(y, row, qid=qid) for row in scores], axis=0)
    np.testing.assert_allclose(found.per_query, [right - single, right - mean, mean - single])
    np.testing.assert_allclose(found.values, np.nanmean(found.per_query, axis=1))


def test_squared_errors_have_the_bias_of_the_mean_score():
    rng = np.random.default_rng(1)
    y, scores = rng.normal(size=30) + 3, rng.normal(size=(5, 30)) + 3
    data = rankgrove.Dataset(np.zeros((30, 1)), y, np.repeat([1, 2, 3], 10))
    queries = TestQueries.of(rankgrove.data.reading.folds.Fold(data, data, data))
    loss, bias, variance = bias_variance(rankgrove.metric("rmse"), queries, scores).values
    assert bias == pytest.approx(np.sqrt(np.mean((scores.mean(axis=0) - y) ** 2)))
    assert loss == pytest.approx(np.mean(np.sqrt(np.mean((scores - y) ** 2, axis=1))))
    assert variance == pytest.approx(loss - bias)
    assert variance > 0


def mean_distance(labels, scores):
    return -float(np.abs(labels - scores).mean())


@pytest.mark.parametrize(
    "metric", ["err-bound", "class-error", "ic", "filtered-dcg", mean_distance]
)
def test_metrics_of_values_measure_the_mean_of_the_scores(metric):
    rng = np.random.default_rng(2)
    y, scores = rng.integers(0, 4, 30).astype(float), 2 * rng.normal(size=(5, 30))
    qid = np.repeat([1, 2, 3], 10)
    data = rankgrove.Dataset(np.zeros((30, 1)), y, qid)
    queries = TestQueries.of(rankgrove.data.reading.folds.Fold(data, data, data))
    metric = rankgrove.metric(metric)
    _, bias, _ = bias_variance(metric, queries, scores).per_query
    right, mean = (metric.per_query(y, given, qid=qid) for given in (y, scores.mean(axis=0)))
    sign = 1 if metric.greater_is_better else -1
    np.testing.assert_allclose(bias, sign * (right - mean))


def test_a_ranker_that_ignores_the_sample_has_no_variance(tiny_data):
    found = curves(tiny_data, ["random"], [0.5])  # of the same seed
    assert found["random: variance"].values == [pytest.approx(0)]
    assert found["random: loss"].values == pytest.approx(found["random: bias"].values)


def test_a_forest_has_less_variance_than_its_trees(tiny_data):
    rankers = ["tree=rf-point:n_estimators=1", "forest=rf-point:n_estimators=30"]
    errors = curves(tiny_data, rankers, [0.5], metrics="rmse")
    assert 0 < errors["forest: variance"].values[0] < errors["tree: variance"].values[0]
    assert errors["forest: variance"].interval is None
    found = curves(tiny_data, rankers, [0.4, 0.8])
    for name in ("tree", "forest"):
        parts = [found[f"{name}: {part}"].values for part in ("bias", "variance")]
        np.testing.assert_allclose(np.sum(parts, axis=0), found[f"{name}: loss"].values)
        low, high = found[f"{name}: loss"].interval
        assert low[0] < found[f"{name}: loss"].values[0] < high[0]
        assert found[f"{name}: loss"].fit_seconds[0] > 0


def test_samples_hold_different_queries(tiny_data):
    from rankgrove.experiments.views import View, viewed

    fold = next(rankgrove.kfold(tiny_data, 3))
    first, again, second = (
        set(viewed(fold, View(train_share=0.5, sample=n)).train.groups.ids) for n in (0, 0, 1)
    )
    assert first == again != second
    assert len(first) == len(second) == round(0.5 * fold.train.n_queries)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 1}, "at least 2 training samples"),
        ({"metrics": "ece"}, "ece measures probabilities"),
        ({"train_share": 0.5}, "leave train_share"),
    ],
)
def test_studies_without_a_variance_are_refused(options, message, tiny_data):
    with pytest.raises(ValueError, match=message):
        curves(tiny_data, ["mart:n_estimators=2"], **options)


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_impossible_shares_are_refused(share, tiny_data):
    with pytest.raises(ValueError, match=f"above 0 and up to 1, not {share}"):
        curves(tiny_data, ["mart:n_estimators=2"], [share])


def test_given_scores_have_no_variance(tiny_data, tmp_path):
    np.savetxt(tmp_path / "run.txt", np.arange(tiny_data.n_rows))
    rankers = ["mart:n_estimators=2", f"scores:{tmp_path / 'run.txt'}"]
    study = make_study(tiny_data, rankers, folds=3, metrics="ndcg@5", repeats=4)
    with Store(None) as store:
        found, (reason,) = run_curve("variance", study, store, Run(), [0.5])
    assert len(found) == 3
    assert "run.txt is not trained" in reason
