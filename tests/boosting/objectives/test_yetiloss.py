import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data
from tests.boosting.objectives.test_lambdamart import ORACLE, value_of
from tests.oracles.random_numbers import Random, mix64

from rankgrove.boosting.objectives.lambdamart import LambdaGradients
from rankgrove.boosting.objectives.yetiloss import YetiLossPairs


def by_definition(data, scores, iteration, n_permutations, metric, k):
    gradient, hessian = np.zeros(len(scores)), np.zeros(len(scores))
    value = value_of(metric, data.y)
    for query, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        random = Random(data.seed ^ mix64(iteration), query)
        for _ in range(n_permutations):
            u = np.array([random.uniform() for _ in range(begin, end)])
            order = begin + np.argsort(-(scores[begin:end] + np.log(u / (1 - u))))
            for rank in range(len(order) - 1):
                swapped = order.copy()
                swapped[[rank, rank + 1]] = swapped[[rank + 1, rank]]
                change = ORACLE[metric](value[order], k) - ORACLE[metric](value[swapped], k)
                better, worse = order[rank], order[rank + 1]
                if value[better] < value[worse]:
                    better, worse = worse, better
                weight = abs(change) / n_permutations
                rho = 1 / (1 + np.exp(scores[better] - scores[worse]))
                gradient[better] -= weight * rho
                gradient[worse] += weight * rho
                hessian[[better, worse]] += weight * rho * (1 - rho)
    return gradient, hessian


@pytest.mark.parametrize(
    ("metric", "k"),
    [(m, k) for m in ORACLE for k in (None, 5) if m != "map" or k is None],
)
def test_matches_the_definition(metric, k):
    data = training_data([1, 12, 0, 35, 2], seed=9)
    scores = np.random.default_rng(9).normal(size=50)
    max_grade = 4 if metric == "err" else None
    got = run(YetiLossPairs(data, metric, k, 4, max_grade=max_grade), scores, iteration=5)
    want = by_definition(data, scores, 5, 4, metric, k or 10**9)
    assert np.abs(want[0]).max() > 1e-4
    for array, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("metric", ORACLE)
def test_queries_without_a_relevant_document_have_no_gradient(metric):
    data = training_data([10], n_grades=1)
    if metric in ("map", "mrr"):
        with pytest.warns(match="no label is relevant"):
            objective = YetiLossPairs(data, metric)
    else:
        objective = YetiLossPairs(data, metric)
    gradients, hessians = run(objective, np.arange(10.0))
    assert not gradients.any()
    assert not hessians.any()


def test_stochastic_lambdas_are_those_of_the_noisy_scores():
    data = training_data([1, 12, 0, 35], seed=9)
    scores = np.random.default_rng(9).normal(size=48)
    noisy = scores.copy()
    for query, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        random = Random(data.seed ^ mix64(3), query)
        u = np.array([random.uniform() for _ in range(begin, end)])
        noisy[begin:end] += 0.7 * np.log(u / (1 - u))
    got = run(LambdaGradients(data, noise=0.7), scores, iteration=3)
    for array, want in zip(got, run(LambdaGradients(data), noisy), strict=True):
        np.testing.assert_allclose(array, want, rtol=1e-4, atol=1e-6)
    assert (got[0] != run(LambdaGradients(data, noise=0.7), scores, iteration=4)[0]).any()
