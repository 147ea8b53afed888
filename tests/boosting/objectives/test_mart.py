import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data
from tests.oracles.lambdas import dcg

from rankgrove.boosting.objectives.mart import SquaredError


def test_targets_are_those_of_the_paper():
    data = training_data([4, 0, 9, 3], seed=1)
    data.y[13:] = 0.0
    np.testing.assert_array_equal(SquaredError(data, "label").target, data.y)
    gains = 2.0**data.y - 1
    np.testing.assert_array_equal(SquaredError(data, "gain").target, gains)
    normalised = SquaredError(data, "normalised_gain").target
    for begin, end in [(0, 4), (4, 13)]:
        ideal = dcg(np.sort(gains[begin:end])[::-1], 10**9)
        np.testing.assert_allclose(normalised[begin:end], gains[begin:end] / ideal)
    assert not normalised[13:].any()


def test_gradient_is_the_weighted_residual():
    weight = np.arange(1.0, 13.0)
    data = training_data([12], seed=2, weight=weight)
    scores = np.linspace(-1, 4, 12)
    objective = SquaredError(data)
    gradients, hessians = run(objective, scores)
    np.testing.assert_allclose(gradients, weight * (scores - data.y), rtol=1e-6)
    np.testing.assert_array_equal(hessians, weight)
    assert not objective.constant_hessian
    assert objective.base_score() == pytest.approx(np.average(data.y, weights=weight))


def test_unweighted_hessian_is_constant():
    data = training_data([12], seed=2)
    objective = SquaredError(data)
    gradients, _ = run(objective, np.zeros(12))
    assert objective.constant_hessian
    np.testing.assert_array_equal(gradients, -data.y)


def test_unknown_target_is_named():
    with pytest.raises(ValueError, match="'rank'"):
        SquaredError(training_data([3]), "rank")
