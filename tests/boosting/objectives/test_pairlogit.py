import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data
from tests.oracles.pairs import pairwise_logistic

from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.pairlogit import PairwiseLogistic

SIZES = [1, 7, 0, 40, 2, 300]


@pytest.mark.parametrize("power", [0.0, 1.0, 0.5, 2.0, 0.01, 7.3, 10.0])
@pytest.mark.parametrize("real", [False, True])
def test_matches_the_definition(power, real):
    data = training_data(SIZES, seed=3)
    if real:
        data.y[:] += np.random.default_rng(2).normal(size=data.n_documents) + 1000.0
    scores = np.round(np.random.default_rng(1).normal(size=data.n_documents) * 2, 1)
    want = pairwise_logistic(scores, data.y, data.offsets, power)
    for array, expected in zip(run(PairwiseLogistic(data, power), scores), want, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-5 * np.abs(want).max())


def test_distant_documents_are_as_exact_as_near_ones():
    data = training_data([60], seed=8)
    scores = np.random.default_rng(5).normal(size=60)
    scores[:30] -= 500.0
    want = pairwise_logistic(scores, data.y, data.offsets, 0.0)
    for array, expected in zip(run(PairwiseLogistic(data), scores), want, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-5)


def test_labels_that_single_precision_cannot_tell_apart_make_pairs():
    data = TrainingData(np.array([1.0, 1.0 + 1e-12]), np.array([0, 2]))
    gradients, _ = run(PairwiseLogistic(data), np.zeros(2))
    np.testing.assert_array_equal(gradients, [0.5, -0.5])


def test_equal_labels_and_single_documents_have_no_gradient():
    gradients, hessians = run(
        PairwiseLogistic(training_data([1, 20, 0, 5], n_grades=1)), np.arange(26.0)
    )
    assert not gradients.any()
    assert not hessians.any()


def test_threads_that_share_a_long_query_do_not_change_a_bit():
    results = []
    for n_threads in (1, 3):
        data = training_data([3000, 5], seed=10, n_threads=n_threads)
        scores = np.random.default_rng(7).normal(size=data.n_documents)
        results.append(run(PairwiseLogistic(data, 1.0), scores))
    for one, three in zip(*results, strict=True):
        np.testing.assert_array_equal(one, three)
