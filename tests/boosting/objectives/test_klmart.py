import numpy as np
import pytest
from tests.boosting.objectives.support import per_query, run, training_data
from tests.oracles import list_losses as oracle
from tests.oracles.lambdas import dcg

from rankgrove.boosting.objectives.klmart import KullbackLeibler


@pytest.mark.parametrize("consistent", [False, True])
def test_derivatives_match_finite_differences(consistent):
    data = training_data([1, 8, 0, 25], seed=2)
    scores = np.random.default_rng(2).normal(size=34) * 2

    def derivatives(s, y):
        gains = 2.0**y - 1
        norm = dcg(np.sort(gains)[::-1], 10**9) if consistent else gains.sum()
        target = gains / norm if norm > 0 else gains
        loss = lambda x: oracle.cross_entropy(x, target)  # noqa: E731
        return oracle.gradient(loss, s), oracle.curvature(loss, s)

    gradients, hessians = run(KullbackLeibler(data, consistent), scores)
    want_gradients, want_hessians = per_query(data, derivatives, scores, data.y)
    np.testing.assert_allclose(gradients, want_gradients, atol=1e-6)
    np.testing.assert_allclose(hessians, want_hessians, atol=1e-6)


def test_queries_without_a_relevant_document_are_left_out():
    data = training_data([10], n_grades=1)
    gradients, hessians = run(KullbackLeibler(data), np.arange(10.0))
    assert not gradients.any()
    assert not hessians.any()
