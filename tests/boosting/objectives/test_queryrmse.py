import numpy as np
import pytest
from tests.boosting.objectives.support import per_query, run, training_data
from tests.oracles import list_losses as oracle

from rankgrove.boosting.objectives.queryrmse import CentredSquaredError

SIZES = [1, 8, 0, 25, 2]


@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_match_finite_differences(weighted):
    random = np.random.default_rng(1)
    weight = random.random(36) + 0.5 if weighted else None
    data = training_data(SIZES, seed=1, weight=weight)
    scores = np.round(random.normal(size=36), 1)

    def gradient(s, y, w):
        return (oracle.gradient(lambda x: oracle.centred_squared_error(x, y, w), s),)

    objective = CentredSquaredError(data)
    gradients, hessians = run(objective, scores)
    ones = np.ones(36) if weight is None else weight
    (want,) = per_query(data, gradient, scores, data.y, ones)
    np.testing.assert_allclose(gradients, want, atol=1e-6)
    np.testing.assert_allclose(hessians, ones, rtol=1e-6)
    assert objective.constant_hessian is not weighted


def test_single_documents_and_equal_residuals_have_no_gradient():
    data = training_data([1, 20], seed=2)
    gradients, _ = run(CentredSquaredError(data), data.y + 3.0)
    assert not gradients.any()


def test_negative_labels_are_learnt():
    data = training_data([20], seed=3)
    data.y[:] -= 2.5
    gradients, _ = run(CentredSquaredError(data), np.zeros(20))
    np.testing.assert_allclose(gradients, data.y.mean() - data.y, atol=1e-6)
