import numpy as np
import pytest
from tests.boosting.objectives.support import per_query, run, training_data
from tests.oracles import list_losses as oracle
from tests.oracles.lambdas import dcg

from rankgrove.boosting.objectives.cosmart import CosineDistance


def gain_norm(gains, consistent):
    return dcg(np.sort(gains)[::-1], 10**9) if consistent else np.linalg.norm(gains)


@pytest.mark.parametrize("consistent", [False, True])
def test_gradient_matches_finite_differences(consistent):
    data = training_data([8, 25, 3], zero_share=0.2, seed=3)
    scores = np.random.default_rng(3).normal(size=36) + 0.5

    def derivative(s, y):
        gains = 2.0**y - 1
        norm = gain_norm(gains, consistent)
        return (oracle.gradient(lambda x: oracle.cosine(x, gains, norm), s),)

    gradients, _ = run(CosineDistance(data, consistent), scores)
    np.testing.assert_allclose(gradients, *per_query(data, derivative, scores, data.y), atol=1e-6)


@pytest.mark.parametrize("consistent", [False, True])
def test_hessian_is_gauss_newton(consistent):
    data = training_data([15], zero_share=0.2, seed=4)
    scores = np.random.default_rng(4).normal(size=15) + 0.5
    gains = 2.0**data.y - 1
    # The loss is |s/|s| - G/|G||^2 / 4, times |G| / norm: J'J of the residuals.
    factor = np.linalg.norm(gains) / gain_norm(gains, consistent)
    step = 1e-6
    jacobian = np.stack(
        [
            (unit(scores + step * e) - unit(scores - step * e)) / (2 * step)
            for e in np.eye(len(scores))
        ]
    )
    _, hessians = run(CosineDistance(data, consistent), scores)
    np.testing.assert_allclose(hessians, 0.5 * factor * np.sum(jacobian**2, axis=1), rtol=1e-5)


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_zero_scores_are_taken_as_ones():
    data = training_data([12, 0, 6], zero_share=0.2, seed=5)
    objective = CosineDistance(data)
    assert objective.base_score() == 1.0
    for zeros, ones in zip(run(objective, np.zeros(18)), run(objective, np.ones(18)), strict=True):
        np.testing.assert_array_equal(zeros, ones)
        assert np.isfinite(zeros).all()
    gradients, _ = run(objective, np.zeros(18))
    assert gradients[np.argmax(data.y)] < 0  # the most relevant document goes up


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_extreme_scores_stay_finite(scale):
    data = training_data([12], seed=5)
    for array in run(CosineDistance(data), np.random.default_rng(5).normal(size=12) * scale):
        assert not np.isnan(array).any()


def test_queries_without_a_relevant_document_are_left_out():
    data = training_data([10, 1], n_grades=1)
    for array in run(CosineDistance(data), np.arange(11.0)):
        assert not array.any()
