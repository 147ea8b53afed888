"""ListMLE's objective."""

from __future__ import annotations

import numpy as np
import pytest

import rankgrove
from oracles.list_losses import gradient, plackett_luce
from rankgrove.data.input_checks import ranking_input
from rankgrove.datasets import make_ranking
from rankgrove.linear.likelihood import PermutationLikelihood
from rankgrove.models.linear_features import LinearFeatures


@pytest.mark.parametrize("k", [1, 3, None])
@pytest.mark.parametrize("n_permutations", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_by_finite_differences(k, n_permutations, weighted):
    data = make_ranking(8, docs_per_query=7, n_features=4, seed=3)
    weight = np.where(data.qid % 2, 1.0, 2.5) if weighted else None
    checked = ranking_input(data.X, data.y, qid=data.qid, sample_weight=weight)
    features = LinearFeatures.of(
        checked.X.to_array(), np.zeros(4, np.float32), checked.groups, "query-minmax", training=True
    )
    objective = PermutationLikelihood(
        checked, features, k=k, n_permutations=n_permutations, sigma=2.0, seed=1
    )
    weights = np.random.default_rng(0).normal(size=4)
    expected = gradient(lambda w: objective(w)[0], weights)
    np.testing.assert_allclose(objective(weights)[1], expected, rtol=1e-6, atol=1e-6)


def test_loss_is_minus_the_log_likelihood_of_the_order():
    X = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    y = np.array([5.0, 0.0, 3.0, 1.0, 4.0, 2.0])  # no ties: one right order
    data = ranking_input(X, y, qid=np.zeros(6, int))
    features = LinearFeatures.of(
        data.X.to_array(), np.zeros(2, np.float32), data.groups, training=True
    )
    objective = PermutationLikelihood(data, features, k=4, n_permutations=2, sigma=np.inf, seed=0)
    weights = np.array([0.3, -0.7])
    expected = plackett_luce(X.astype(float) @ weights, np.argsort(-y), 4)
    assert objective(weights)[0] == pytest.approx(expected, rel=1e-12)


def test_fit_ends_at_the_optimum_and_the_prior_shrinks():
    data = make_ranking(30, docs_per_query=10, n_features=5, seed=1)
    loose, tight = (
        rankgrove.ListMLE(sigma=sigma, random_state=0, tolerance=1e-8).fit(data)
        for sigma in (100.0, 0.01)
    )
    assert np.linalg.norm(tight.coef_) < np.linalg.norm(loose.coef_)
    checked = ranking_input(data)
    features = LinearFeatures.of(
        checked.X.to_array(), loose.model_.fill, checked.groups, training=True
    )
    from sklearn.utils import check_random_state

    seed = int(check_random_state(0).randint(2**31 - 1))
    objective = PermutationLikelihood(
        checked, features, k=10, n_permutations=1, sigma=100.0, seed=seed
    )
    value, slope = objective(loose.coef_)
    assert np.abs(slope / features.spreads()).max() < 1e-4
    assert value < objective(np.zeros(5))[0]
