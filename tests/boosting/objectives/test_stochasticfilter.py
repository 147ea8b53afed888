import numpy as np
import pytest
from tests.boosting.objectives.support import per_query, run, training_data
from tests.oracles import smoothed_metrics as oracle
from tests.oracles.list_losses import gradient

import rankgrove
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.stochasticfilter import ExpectedFilteredDCG
from rankgrove.datasets import make_ranking


@pytest.mark.parametrize("sigma", [1.0, 2.5])
def test_gradients_are_those_of_the_expectation_over_all_subsets(sigma):
    data = training_data([1, 8, 0, 9, 2], seed=1)
    data.y[3] = -1.5  # a harmful document
    scores = np.round(np.random.default_rng(1).normal(size=20), 1)

    def by_definition(s, y):
        return (gradient(lambda x: -oracle.expected_filtered_dcg(x, y, sigma), s),)

    gradients, hessians = run(ExpectedFilteredDCG(data, sigma), scores)
    (want,) = per_query(data, by_definition, scores, data.y)
    np.testing.assert_allclose(gradients, want, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(hessians, sigma * np.abs(gradients), rtol=1e-6)


@pytest.mark.parametrize("n", [5, 40, 1000, 20_000])
@pytest.mark.parametrize("level", [-4.0, 0.0, 4.0])
def test_long_lists_are_exact(n, level):
    """Above a document are n - 1: E[1 / (1 + N)] is (1 - (1 - p)^n) / (n p)."""
    y = np.zeros(n)
    y[-1] = 1.0  # the last document counts alone: its gradient is -p (1 - p) E[1 / (1 + N)]
    p = 1 / (1 + np.exp(-level))
    want = -(1 - p) * (1 - (1 - p) ** n) / n
    gradients, _ = run(ExpectedFilteredDCG(TrainingData(y, np.array([0, n]))), np.full(n, level))
    assert gradients[-1] == pytest.approx(want, rel=1e-6)
    assert (gradients[:-1] > 0).all()  # whatever is above it takes its place


def test_the_order_of_the_rows_counts():
    scores, y = np.zeros(3), np.array([2.0, 0.0, 1.0])
    there = run(ExpectedFilteredDCG(TrainingData(y, np.array([0, 3]))), scores)[0]
    back = run(ExpectedFilteredDCG(TrainingData(y[::-1].copy(), np.array([0, 3]))), scores)[0]
    assert there[0] < back[2] < 0  # the best document gains more where nothing is above it


def test_small_labels_do_not_end_training_early():
    """Steps as small as the gradients: no score changed its sign before the patience was over."""
    train, valid = (make_ranking(150, preset="letor4", seed=seed) for seed in (1, 3))
    ranker = rankgrove.StochasticFilter(n_estimators=100, random_state=0)
    for part in (train, valid):
        part.y = part.y / 10
    ranker.fit(train, eval_set=valid, eval_metric="filtered-dcg", early_stopping_rounds=20)
    filtered = rankgrove.metric("filtered-dcg")
    whole = filtered(valid.y, np.zeros(len(valid.y)), qid=valid.qid)
    assert filtered(valid.y, ranker.predict(valid), qid=valid.qid) > whole * 1.1


def test_without_l2_the_unit_of_the_labels_has_no_effect():
    data = make_ranking(40, seed=1)
    ranker = rankgrove.StochasticFilter(n_estimators=20, l2=0.0, random_state=0)
    scores, others = (
        ranker.fit(data.X, y, qid=data.qid).predict(data.X) for y in (data.y, data.y / 1024)
    )
    np.testing.assert_array_equal(scores, others)


def test_a_learnt_filter_has_a_higher_filtered_dcg_than_the_whole_lists():
    train, test = (make_ranking(150, preset="letor4", seed=seed) for seed in (1, 3))
    ranker = rankgrove.StochasticFilter(n_estimators=60, random_state=0).fit(train)
    filtered = rankgrove.metric("filtered-dcg")
    whole = filtered(test.y, np.zeros(len(test.y)), qid=test.qid)
    assert filtered(test.y, ranker.predict(test), qid=test.qid) > whole + 0.03
