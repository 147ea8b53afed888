import numpy as np
import pytest
from tests.boosting.objectives.support import run
from tests.oracles import position_bias as oracle

from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.lambdamart import LambdaGradients
from rankgrove.boosting.objectives.mart import SquaredError
from rankgrove.boosting.objectives.position_bias import (
    AdditivePositionBias,
    CorrectedGains,
    ShownPositions,
    UnbiasedLambdas,
    WeightedPairs,
)

SIZES = [1, 7, 0, 12, 2, 30]
PLAIN = {"query_norm": False, "difference_norm": False}


def clicks(n_threads=1, seed=0):
    random = np.random.default_rng(seed)
    n = sum(SIZES)
    offsets = np.r_[0, np.cumsum(SIZES)].astype(np.int64)
    y = (random.random(n) < 0.3).astype(float)
    position = np.concatenate([random.permutation(size) + 1 for size in SIZES]).astype(np.int64)
    scores = np.round(random.normal(size=n), 1)  # some are tied
    return TrainingData(y, offsets, n_threads=n_threads), position, scores


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=3e-6 * np.abs(want).max())


@pytest.mark.parametrize("truncation", [3, None])
def test_factors_of_clicks_multiply_pairs(truncation):
    data, _, scores = clicks()
    factor = np.random.default_rng(1).uniform(1, 8, data.n_documents)
    objective = WeightedPairs(data, factor, truncation=truncation, sigma=1.3, **PLAIN)
    ones, cut = np.ones(len(scores)), truncation or 10**9
    want = oracle.weighted_lambdas(data.offsets, scores, data.y, factor, ones, 1.3, cut)
    for got, expected in zip(run(objective, scores), want[:2], strict=True):
        close(got, expected)


def test_factors_of_one_change_no_bit():
    data, _, scores = clicks()
    weighted = run(WeightedPairs(data, np.ones(data.n_documents)), scores)
    for got, want in zip(weighted, run(LambdaGradients(data), scores), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("reg", [0.0, 1.0, 3.0])
def test_ratios_of_unbiased_lambdamart_match_the_definition(reg):
    data, position, scores = clicks()
    objective = UnbiasedLambdas(
        data,
        ShownPositions.of(position, data.shard),
        reg=reg,
        largest=1e9,
        truncation=None,
        **PLAIN,
    )
    plus = minus = dict.fromkeys(sorted(set(position)), 1.0)
    for iteration in range(3):
        moved = scores * (1 + iteration)
        objective.prepare(moved[None], iteration)
        better, worse = (np.array([1 / ratio[k] for k in position]) for ratio in (plus, minus))
        gradient, hessian, better_cost, worse_cost = oracle.weighted_lambdas(
            data.offsets, moved, data.y, better, worse, 1.0, 10**9
        )
        for got, want in zip(run(objective, moved, iteration), (gradient, hessian), strict=True):
            close(got, want)
        new_plus = oracle.ratios(position, better_cost, 1 / (1 + reg))
        plus = {k: value or plus[k] for k, value in new_plus.items()}
        new_minus = oracle.ratios(position, worse_cost, 1 / (1 + reg))
        minus = {k: value or minus[k] for k, value in new_minus.items()}
        table = objective.table_after(iteration + 1)
        close(table["click_ratio"], np.array(list(plus.values())))
        close(table["no_click_ratio"], np.array(list(minus.values())))
    assert (objective.table_after(0)["click_ratio"] == 1).all()


@pytest.mark.parametrize("make", [LambdaGradients, SquaredError])
@pytest.mark.parametrize("reg", [0.0, 0.5])
def test_additive_biases_take_newton_steps(make, reg):
    data, position, scores = clicks()
    objective = AdditivePositionBias(
        make(data), data, ShownPositions.of(position, data.shard), reg=reg, learning_rate=0.3
    )
    bias = dict.fromkeys(sorted(set(position)), 0.0)
    for iteration in range(3):
        objective.prepare(scores[None], iteration)
        gradient, hessian = run(make(data), scores + np.array([bias[k] for k in position]))
        for got, want in zip(run(objective, scores), (gradient, hessian), strict=True):
            close(got, want)
        bias = oracle.bias_step(position, bias, gradient, hessian, reg, 0.3)
        got = objective.table_after(iteration + 1)["bias"]
        np.testing.assert_allclose(got, list(bias.values()), rtol=1e-5)


def test_gains_may_be_negative():
    data, _, scores = clicks()
    gains = np.random.default_rng(2).normal(size=data.n_documents)
    got, _ = run(CorrectedGains(data, gains, truncation=None, **PLAIN), scores)
    want = np.zeros(data.n_documents)
    for first, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        order = first + np.argsort(-scores[first:end], kind="stable")
        for a, i in enumerate(order):
            for b, j in enumerate(order):
                if gains[i] > gains[j]:
                    delta = (gains[i] - gains[j]) * abs(1 / np.log2(a + 2) - 1 / np.log2(b + 2))
                    rho = 1 / (1 + np.exp(scores[i] - scores[j]))
                    want[i] -= delta * rho
                    want[j] += delta * rho
    close(got, want)


def test_estimates_do_not_depend_on_the_number_of_threads():
    def table(n_threads):
        data, position, scores = clicks(n_threads)
        objective = UnbiasedLambdas(
            data, ShownPositions.of(position, data.shard), reg=1.0, largest=20.0
        )
        for iteration in range(3):
            objective.prepare(scores[None], iteration)
        return objective.table_after(3)

    for one, two in zip(table(1).values(), table(4).values(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_positions_without_clicks_keep_their_ratio():
    offsets = np.array([0, 3, 6], np.int64)
    data = TrainingData(np.array([1.0, 0, 0, 1, 0, 0]), offsets)
    shown = ShownPositions.of(np.array([1, 2, 3, 1, 2, 3]), data.shard)
    objective = UnbiasedLambdas(data, shown, reg=0.0, largest=20.0)
    objective.prepare(np.zeros((1, 6)), 0)
    np.testing.assert_array_equal(objective.table_after(1)["click_ratio"], [1, 1, 1])
    assert np.isfinite(objective.table_after(1)["no_click_ratio"]).all()
