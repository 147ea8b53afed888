import numpy as np
import pytest
from tests.boosting.objectives.support import per_query, run, training_data
from tests.oracles import list_losses as oracle

import rankgrove
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.groupquantile import CentredQuantileLoss
from rankgrove.datasets import make_ranking

SIZES = [1, 8, 0, 25, 2]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_match_finite_differences(weighted, alpha):
    random = np.random.default_rng(1)
    weight = random.random(36) + 0.5 if weighted else None
    data = training_data(SIZES, seed=1, weight=weight)
    scores = random.normal(size=36)
    ones = np.ones(36) if weight is None else weight

    def gradient(s, y, w):
        mean = np.average(y - s, weights=w)  # held fixed
        return (oracle.gradient(lambda x: oracle.quantile_loss(y - mean, x, w, alpha), s),)

    def centred(y, w):
        return (np.abs(y - np.average(y, weights=w)),)

    gradients, hessians = run(CentredQuantileLoss(data, alpha), scores)
    (want,) = per_query(data, gradient, scores, data.y, ones)
    (errors,) = per_query(data, centred, data.y, ones)
    want *= 2 * errors.mean()
    want[0] = 0.0  # a single document is its own mean
    np.testing.assert_allclose(gradients, want, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(hessians, ones, rtol=1e-6)


def test_errors_below_delta_have_no_gradient():
    data = TrainingData(np.array([0.0, 0.004, 1.0, -1.004]), np.array([0, 4]))
    scale = 2 * 2.008 / 4
    gradients, _ = run(CentredQuantileLoss(data, 0.5, delta=0.01), np.zeros(4))
    np.testing.assert_allclose(gradients / scale, [0, 0, -0.5, 0.5])
    gradients, _ = run(CentredQuantileLoss(data, 0.5, delta=0.001), np.zeros(4))
    np.testing.assert_allclose(gradients / scale, [0, -0.5, -0.5, 0.5])


def test_documents_of_weight_0_have_no_gradient():
    weight = np.array([0.0, 1.0, 1.0])
    data = TrainingData(np.array([5.0, 1.0, 2.0]), np.array([0, 3]), weight)
    gradients, hessians = run(CentredQuantileLoss(data), np.zeros(3))
    np.testing.assert_allclose(gradients, [0, 0.5, -0.5])  # the mean error of the others is 0.5
    np.testing.assert_allclose(hessians, weight)


def test_equal_labels_have_no_gradient():
    data = TrainingData(np.array([3.0, 3.0, 5.0, 5.0]), np.array([0, 2, 4]))
    gradients, _ = run(CentredQuantileLoss(data), np.zeros(4))
    np.testing.assert_array_equal(gradients, 0)


@pytest.mark.parametrize("unit", [1024.0, 2.0**-8])
def test_labels_of_another_unit_give_scores_of_that_unit(unit):
    data = make_ranking(40, seed=1)
    ranker = rankgrove.GroupQuantile(n_estimators=20, delta=0.0, random_state=0)
    scores, others = (
        ranker.fit(data.X, y, qid=data.qid).predict(data.X) for y in (data.y, data.y * unit)
    )
    np.testing.assert_array_equal(others, scores * unit)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"alpha": 1.5}, r"alpha must lie in \[0, 1\], not 1.5"), ({"delta": -1.0}, "delta .* -1.0")],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        CentredQuantileLoss(training_data([3]), **options)
