import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data
from tests.oracles import smoothed_metrics as oracle
from tests.oracles.list_losses import gradient
from tests.oracles.random_numbers import Random, mix64

from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.stochasticrank import SmoothedMetric

METRICS = [("ndcg", None), ("ndcg", 3), ("dcg", 2), ("map", None), ("err", 4), ("mrr", 3)]


def label_values(name, k, labels):
    if name == "dcg":
        return 2.0**labels - 1
    if name == "err":
        return (2.0**labels - 1) / 2**4
    if name in ("map", "mrr"):
        return (labels >= 1).astype(float)
    gains = 2.0**labels - 1
    best = oracle.metric_of_list("dcg", np.sort(gains)[::-1], k)
    return gains / best if best > 0 else 0 * gains


def normal(random):
    radius = np.sqrt(-2 * np.log(1 - random.uniform()))
    return radius * np.cos(2 * np.pi * random.uniform())


def by_definition(data, scores, iteration, name, k, sigma, mu, nu, sfa, n_permutations):
    found = np.zeros(len(scores))
    for query, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        part, n = slice(begin, end), end - begin
        if n < 2:
            continue
        random = Random(data.seed ^ mix64(iteration), query)
        value = label_values(name, k, data.y[part])
        lowered = scores[part] - sigma * mu * data.y[part]
        draws = [
            oracle.sampled_gradient(
                name, value, k, lowered, np.array([normal(random) for _ in range(n)]), sigma
            )
            for _ in range(n_permutations)
        ]
        found[part] = -oracle.projected(np.mean(draws, axis=0), scores[part], nu, sfa)
    return found


@pytest.mark.parametrize(("name", "k"), METRICS)
def test_matches_the_definition(name, k):
    data = training_data([1, 12, 0, 7, 2, 3], seed=9)
    scores = np.round(np.random.default_rng(9).normal(size=25), 1)  # with ties
    options = {"sigma": 0.7, "mu": 0.3, "nu": 0.1, "sfa": 0.8, "n_permutations": 2}
    got, hessians = run(SmoothedMetric(data, name, k, max_grade=4, **options), scores, iteration=5)
    want = by_definition(data, scores, 5, name, k, **options)
    assert np.abs(want).max() > 0.01
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert (hessians == 1).all()


@pytest.mark.parametrize(("name", "k"), [("ndcg", None), ("mrr", 2), ("map", None)])
def test_the_mean_over_many_draws_is_the_gradient_of_the_expected_metric(name, k):
    scores, y = np.array([0.3, -0.2, 0.6]), np.array([1.0, 2.0, 0.0])
    data = TrainingData(y, np.array([0, 3]), seed=4)
    objective = SmoothedMetric(data, name, k, sigma=0.5, sfa=0.0, n_permutations=100_000)
    want = gradient(
        lambda s: -oracle.expected_metric_of_three(name, label_values(name, k, y), k, s, 0.5),
        scores,
        1e-3,
    )
    np.testing.assert_allclose(run(objective, scores)[0], want, atol=3e-3)
    assert np.abs(want).max() > 0.05


def test_queries_without_a_better_order_have_no_gradient():
    y = np.r_[0.0, 0.0, 0.0, 2.0, 2.0, 1.0, 1.0, 0.0]
    data = TrainingData(y, np.array([0, 3, 5, 6, 8]))
    gradients, _ = run(SmoothedMetric(data), np.arange(8.0))
    assert not gradients[:6].any()
    assert gradients[6] < 0 < gradients[7]


def test_gradients_of_a_query_sum_to_zero_and_are_orthogonal_to_its_scores():
    data = training_data([40], seed=2)
    scores = np.random.default_rng(3).normal(size=40)
    gradients, _ = run(SmoothedMetric(data, nu=1e-6), scores)
    assert gradients.sum() == pytest.approx(0, abs=1e-6)
    assert gradients @ scores == pytest.approx(0, abs=1e-5)
    along, _ = run(SmoothedMetric(data, sfa=0.0), scores)
    assert abs(along @ scores) > 1e-3


def test_draws_change_with_iteration_and_query():
    data = TrainingData(np.tile([0.0, 1.0, 2.0], 2), np.array([0, 3, 6]))
    objective = SmoothedMetric(data)
    first, second = run(objective, np.zeros(6), 0)[0], run(objective, np.zeros(6), 1)[0]
    assert (first != second).all()
    assert (first[:3] != first[3:]).all()


def test_unknown_metrics_are_named():
    with pytest.raises(ValueError, match=r"metric must be one of .*, not 'p'"):
        SmoothedMetric(training_data([3]), "p")
