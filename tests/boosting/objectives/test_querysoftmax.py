import numpy as np
import pytest
from tests.boosting.objectives.support import per_query, run, training_data
from tests.oracles import list_losses as oracle

from rankgrove.boosting.objectives.querysoftmax import SoftmaxCrossEntropy
from rankgrove.errors import DataError

SIZES = [1, 8, 0, 25, 2]


@pytest.mark.parametrize("beta", [1.0, 0.3])
@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_derivatives_match_finite_differences(beta, damping):
    data = training_data(SIZES, seed=2)
    scores = np.round(np.random.default_rng(2).normal(size=36), 1)

    def derivatives(s, y):
        loss = lambda x: oracle.cross_entropy(beta * x, y)  # noqa: E731
        return oracle.gradient(loss, s), oracle.curvature(loss, s) + beta * y.sum() * damping

    got = run(SoftmaxCrossEntropy(data, beta, damping), scores)
    for array, want in zip(got, per_query(data, derivatives, scores, data.y), strict=True):
        np.testing.assert_allclose(array, want, atol=1e-5)


def test_queries_without_a_positive_label_are_left_out():
    data = training_data([10], n_grades=1)
    gradients, hessians = run(SoftmaxCrossEntropy(data), np.arange(10.0))
    assert not gradients.any()
    assert not hessians.any()


def test_negative_labels_are_refused():
    data = training_data([10], seed=3)
    data.y[4] = -1.0
    with pytest.raises(DataError, match="-1"):
        SoftmaxCrossEntropy(data)
