import numpy as np
import pytest
from tests.boosting.objectives.support import per_query, run, training_data
from tests.oracles.lambdas import dcg

from rankgrove.boosting.objectives.lambdaloss import LOSSES, LambdaLossGradients
from rankgrove.errors import DataError

SIZES = [1, 7, 0, 40, 2, 13]


def weight_of(loss, i, j, y, gain, mu):
    """Weight of the ordered pair at ranks i and j (from 1); 0 if it does not count."""
    discount = lambda rank: np.log2(1 + rank)  # noqa: E731
    distance = abs(i - j)
    delta = 1 / discount(distance) - 1 / discount(distance + 1)
    if loss == "ndcg-loss1":
        return gain[i - 1] / discount(i)
    if loss == "arp-loss1":
        return y[i - 1]
    if y[i - 1] <= y[j - 1]:
        return 0.0
    if loss == "arp-loss2":
        return y[i - 1] - y[j - 1]
    by_rank = abs(1 / discount(i) - 1 / discount(j)) if loss == "ndcg-loss2++" else 0.0
    factor = mu if loss == "ndcg-loss2++" else 1.0
    return (by_rank + factor * delta) * (gain[i - 1] - gain[j - 1])


def by_definition(scores, y, loss, mu, truncation, sigma):
    order = np.argsort(-scores, kind="stable")
    gain = 2.0**y - 1
    ideal = dcg(np.sort(gain)[::-1], 10**9)
    gain = gain / ideal if ideal > 0 else gain
    gradient, hessian = np.zeros(len(y)), np.zeros(len(y))
    for a in range(len(y)):
        for b in range(len(y)):
            if a == b or min(a, b) >= truncation:
                continue
            w = weight_of(loss, a + 1, b + 1, y[order], gain[order], mu)
            i, j = order[a], order[b]
            rho = 1 / (1 + np.exp(sigma * (scores[i] - scores[j])))
            gradient[i] -= sigma * w * rho
            gradient[j] += sigma * w * rho
            hessian[[i, j]] += sigma**2 * w * rho * (1 - rho)
    return gradient, hessian


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("truncation", [None, 5])
def test_matches_the_definition(loss, truncation):
    data = training_data(SIZES, seed=3)
    scores = np.round(np.random.default_rng(1).normal(size=data.n_documents) * 2, 1)
    got = run(LambdaLossGradients(data, loss, 4.0, truncation, sigma=1.3), scores)
    want = per_query(
        data,
        lambda s, y: by_definition(s, y, loss, 4.0, truncation or 10**9, 1.3),
        scores,
        data.y,
    )
    assert np.abs(want[0]).max() > 1e-3
    for array, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(array, expected, rtol=2e-5, atol=5e-6 * np.abs(expected).max())


def test_unknown_losses_and_negative_labels_are_named():
    data = training_data([5], seed=1)
    with pytest.raises(ValueError, match="'ndcg-loss3'"):
        LambdaLossGradients(data, "ndcg-loss3")
    data.y[2] = -1.0
    with pytest.raises(DataError, match="-1"):
        LambdaLossGradients(data, "arp-loss2")
