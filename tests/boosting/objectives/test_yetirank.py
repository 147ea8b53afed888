import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data
from tests.oracles.random_numbers import Random, mix64

from rankgrove.boosting.objectives.yetirank import YetiRankPairs


def by_definition(data, scores, iteration, n_permutations, decay):
    gradient, hessian = np.zeros(len(scores)), np.zeros(len(scores))
    for query, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        random = Random(data.seed ^ mix64(iteration), query)
        for _ in range(n_permutations):
            u = np.array([random.uniform() for _ in range(begin, end)])
            order = begin + np.argsort(-(scores[begin:end] + np.log(u / (1 - u))))
            for rank in range(len(order) - 1):
                better, worse = order[rank], order[rank + 1]
                if data.y[better] < data.y[worse]:
                    better, worse = worse, better
                position = 1 / (rank + 1) if decay is None else decay**rank
                weight = position * (data.y[better] - data.y[worse]) / n_permutations
                rho = 1 / (1 + np.exp(scores[better] - scores[worse]))
                gradient[better] -= weight * rho
                gradient[worse] += weight * rho
                hessian[[better, worse]] += weight * rho * (1 - rho)
    return gradient, hessian


@pytest.mark.parametrize("decay", [0.85, 1.0, None])
def test_matches_the_definition(decay):
    data = training_data([1, 12, 0, 35], seed=9)
    scores = np.random.default_rng(9).normal(size=48)
    got = run(YetiRankPairs(data, 4, decay), scores, iteration=5)
    want = by_definition(data, scores, 5, 4, decay)
    for array, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-6)


def test_draws_change_with_iteration():
    data = training_data([30], seed=10)
    objective = YetiRankPairs(data)
    assert (run(objective, np.zeros(30), 0)[0] != run(objective, np.zeros(30), 1)[0]).any()


def test_decay_outside_its_range_is_named():
    with pytest.raises(ValueError, match=r"decay must be None or lie in .*1.5"):
        YetiRankPairs(training_data([3]), decay=1.5)
