"""RankSVM's objective and its two minimisers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

import rankgrove
from oracles.pairs import hinge, pairs_of
from rankgrove import _native
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataWarning


@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    seed=st.integers(0, 10**6),
    power=st.sampled_from([1, 2]),
    n_labels=st.integers(1, 12),
    weighted=st.booleans(),
    by_query=st.booleans(),
)
def test_sums_over_pairs_are_those_of_listed_pairs(
    sizes, seed, power, n_labels, weighted, by_query
):
    rng = np.random.default_rng(seed)
    offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    n = offsets[-1]
    scores, y = 5.0 + rng.normal(size=n), rng.integers(0, n_labels, n).astype(float)
    factors = np.round(rng.random(n), 1) if weighted else None
    pairs = _native.PairHinge(offsets, y, factors, power == 2, by_query)
    gradients = np.empty(n)
    losses = pairs.losses(scores, 2, gradients)
    plain_losses, plain_gradients = hinge(scores, y, offsets, power, factors, by_query)
    np.testing.assert_allclose(losses, plain_losses, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(gradients, plain_gradients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.02, 1.0])
def test_optimum_is_that_of_a_classifier_of_listed_pairs(loss, C):
    data = make_ranking(15, docs_per_query=8, n_features=5, seed=1)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    offsets = np.r_[0, np.cumsum(data.group_sizes)]
    higher, lower = np.array(list(pairs_of(data.y, offsets))).T
    differences = X[higher] - X[lower]
    sign = np.where(np.arange(len(differences)) % 2, 1.0, -1.0)
    peer = LinearSVC(
        C=C / data.n_queries, loss=loss, fit_intercept=False, tol=1e-8, max_iter=10**6
    ).fit(sign[:, None] * differences, sign)
    ranker = rankgrove.RankSVM(C=C, loss=loss, tolerance=1e-7, max_iter=2000)
    weights = ranker.fit(X, data.y, qid=data.qid).coef_

    def objective(w):
        missing = np.maximum(0.0, 1.0 - differences @ w) ** (1 if loss == "hinge" else 2)
        return 0.5 * w @ w + C / data.n_queries * missing.sum()

    best = objective(peer.coef_[0])
    assert objective(weights) <= best * (1 + 1e-6)
    np.testing.assert_allclose(weights, peer.coef_[0], rtol=0.02, atol=2e-3)


def test_tolerance_of_the_hinge_bounds_the_distance_to_the_optimum():
    data = make_ranking(20, seed=2)
    rough, fine = (
        rankgrove.RankSVM(C=0.1, tolerance=tolerance, normalisation="query-zscore").fit(data)
        for tolerance in (1e-2, 1e-6)
    )
    from rankgrove.data.input_checks import ranking_input
    from rankgrove.linear.hinge import PairHingeLoss
    from rankgrove.models.linear_features import LinearFeatures

    checked = ranking_input(data)
    features = LinearFeatures.of(
        checked.X.to_array(), fine.model_.fill, checked.groups, "query-zscore", training=True
    )
    loss = PairHingeLoss(checked, features, C=0.1, squared=False, by_query=False)
    optimum = loss.with_margin(fine.coef_)[0]
    reached = loss.with_margin(rough.coef_)[0]
    assert optimum <= reached <= optimum * 1.0101
    assert rough.model_.n_steps < fine.model_.n_steps


def test_an_end_above_the_optimum_is_told():
    data = make_ranking(20, docs_per_query=10, n_features=6, seed=1)
    with pytest.warns(DataWarning, match="above its optimum: raise max_iter"):
        rankgrove.RankSVM(C=1.0, max_iter=2).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rankgrove.RankSVM(C=1.0, max_iter=1000).fit(data)
        rankgrove.RankSVM(C=1.0, max_iter=1000).fit(data, callbacks=[lambda progress: True])
