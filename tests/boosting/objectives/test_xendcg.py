import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data
from tests.oracles import list_losses as oracle
from tests.oracles.random_numbers import Random, mix64

from rankgrove.boosting.objectives.xendcg import CrossEntropyNDCG


def targets(data, iteration):
    """Per query, the target that the seed, iteration and query determine."""
    for query, (begin, end) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        random = Random(data.seed ^ mix64(iteration), query)
        phi = np.array([2.0**y - random.uniform() for y in data.y[begin:end]])
        yield slice(begin, end), phi / phi.sum()


def test_plain_derivatives_match_finite_differences():
    data = training_data([8, 0, 30], seed=6)
    scores = np.random.default_rng(6).normal(size=38)
    gradients, hessians = run(CrossEntropyNDCG(data, terms=1), scores, iteration=3)
    for rows, target in targets(data, 3):
        if len(target) == 0:
            continue
        loss = lambda s, t=target: oracle.cross_entropy(s, t)  # noqa: E731
        np.testing.assert_allclose(gradients[rows], oracle.gradient(loss, scores[rows]), atol=1e-6)
        np.testing.assert_allclose(hessians[rows], oracle.curvature(loss, scores[rows]), atol=1e-6)


@pytest.mark.parametrize("terms", [2, 3])
def test_corrections_are_jacobi_steps_on_the_full_hessian(terms):
    data = training_data([20], seed=7)
    scores = np.random.default_rng(7).normal(size=20)
    ((_, target),) = targets(data, 0)
    p = np.exp(oracle.log_softmax(scores))
    full = np.diag(p) - np.outer(p, p)
    diagonal = np.diag(full)
    term = p - target
    want = term.copy()
    for _ in range(terms - 1):
        term = -(full - np.diag(diagonal)) @ (term / diagonal)
        want += term
    gradients, hessians = run(CrossEntropyNDCG(data, terms=terms), scores)
    np.testing.assert_allclose(gradients, want, atol=1e-6)
    np.testing.assert_allclose(hessians, diagonal, atol=1e-7)


def test_draws_change_with_iteration_and_seed_only():
    scores = np.zeros(300)
    data = training_data([30] * 10, seed=8)
    first = run(CrossEntropyNDCG(data), scores, iteration=0)[0]
    again = run(CrossEntropyNDCG(training_data([30] * 10, seed=8, n_threads=3)), scores)[0]
    later = run(CrossEntropyNDCG(data), scores, iteration=1)[0]
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - later).max() > 1e-3


def test_lightgbm_has_the_same_gradients_given_its_random_numbers():
    """A tree with a leaf per document tells g / h; the definition is that of the tests above."""
    lightgbm = pytest.importorskip("lightgbm")
    sizes, seed = [6, 9, 4], 7
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 5, sum(sizes)), np.arange(float(sum(sizes)))[:, None]
    params = {
        "objective": "rank_xendcg",
        "objective_seed": seed,
        "num_leaves": len(y),
        "min_data_in_leaf": 1,
        "min_data_in_bin": 1,
        "min_sum_hessian_in_leaf": 0,
        "learning_rate": 1.0,
        "metric": "None",
        "num_threads": 1,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(X, y, group=sizes, params={"min_data_in_bin": 1, "verbosity": -1})
    leaves = lightgbm.train(params, data, 1).predict(X)
    begin = 0
    for query, size in enumerate(sizes):
        rows = slice(begin, begin + size)
        target = 2.0 ** y[rows] - linear_congruential(seed + query, size)
        p = np.full(size, 1 / size)
        full = np.diag(p) - np.outer(p, p)
        term = p - target / target.sum()
        gradient = term.copy()
        for _ in range(2):
            term = -(full - np.diag(np.diag(full))) @ (term / np.diag(full))
            gradient += term
        np.testing.assert_allclose(leaves[rows], -gradient / np.diag(full), rtol=1e-5, atol=1e-6)
        begin += size


def linear_congruential(state, size):
    """Return the numbers in [0, 1) that LightGBM draws for a query."""
    drawn = []
    for _ in range(size):
        state = (214013 * state + 2531011) % 2**32
        drawn.append((state >> 16) % 2**15 / 2**15)
    return np.array(drawn)
