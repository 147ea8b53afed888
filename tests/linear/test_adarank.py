"""AdaRank against its definition."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from rankgrove.datasets import make_ranking


def by_definition(data, metric, weight, n_rounds, max_repeats):
    """The algorithm as in the paper, in plain numpy."""
    _, first = np.unique(data.qid, return_index=True)
    prior = np.ones(len(first)) if weight is None else weight[np.sort(first)]

    def performance(scores):
        return metric.per_query(data.y, scores, qid=data.qid)

    weak = np.array([performance(column) for column in data.X.T.astype(float)])
    P = prior / prior.sum()
    f, weights, history = np.zeros(len(data.y)), np.zeros(data.n_features), []
    chosen, closed = [], set()
    while len(history) < n_rounds:
        means = [-np.inf if k in closed else P @ weak[k] for k in range(data.n_features)]
        k = int(np.argmax(means))
        if chosen[-max_repeats:] == [k] * max_repeats:
            closed.add(k)
            continue
        chosen.append(k)
        alpha = 0.5 * np.log((P @ (1 + weak[k])) / (P @ (1 - weak[k])))
        weights[k] += alpha
        f = f + alpha * data.X[:, k].astype(float)
        P = prior * np.exp(-performance(f))
        P /= P.sum()
        history.append(weights.copy())
    return np.array(history)


@pytest.mark.parametrize("metric", ["ndcg@5", "map"])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_of_every_round(metric, weighted):
    data = make_ranking(25, docs_per_query=10, n_features=6, seed=2)
    weight = 1.0 + data.qid % 3 if weighted else None
    ranker = rankgrove.AdaRank(metric=metric, n_estimators=12, max_repeats=2)
    ranker.fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    averaged = rankgrove.metric(metric, ties="average")
    expected = by_definition(data, averaged, weight, 12, 2)
    assert len({tuple(row > 0) for row in expected}) > 2  # several features are in it
    np.testing.assert_allclose(ranker.model_.path, expected, rtol=1e-9)


def test_metrics_that_want_to_be_low_are_refused():
    data = make_ranking(5, seed=2)
    with pytest.raises(ValueError, match=r"parameter metric of AdaRank .* not 'rmse'"):
        rankgrove.AdaRank(metric="rmse").fit(data)


def test_validation_cuts_the_rounds():
    train, valid = make_ranking(60, seed=1), make_ranking(40, seed=2)
    ranker = rankgrove.AdaRank(normalisation="query-minmax")
    ranker.fit(train, eval_set=valid, early_stopping_rounds=15)
    values = ranker.evals_result_["valid"]["ndcg@10"]
    assert ranker.best_iteration_ == int(np.argmax(values)) + 1 == ranker.model_.n_steps
    assert len(values) < 500
    assert ranker.score(valid) == pytest.approx(max(values))


def test_a_metric_beyond_one_is_refused():
    data = make_ranking(10, docs_per_query=8, n_features=4, seed=1)
    with pytest.raises(ValueError, match="metric of AdaRank must lie between -1 and 1, and dcg@10"):
        rankgrove.AdaRank(metric="dcg@10").fit(data)
