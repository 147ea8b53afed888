import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data

from rankgrove.boosting.objectives.custom import PerQueryObjective, PythonObjective
from rankgrove.boosting.objectives.klmart import KullbackLeibler
from rankgrove.boosting.objectives.mart import SquaredError


def squares(scores, y, qid):
    return scores - y, np.ones(len(y))


def cross_entropy(scores, y):
    p = np.exp(scores - scores.max())
    p /= p.sum()
    gains = 2.0**y - 1.0
    total = gains.sum()
    target = gains / total if total > 0 else gains
    share = target.sum()
    return share * p - target, share * p * (1.0 - p)


def test_vectorised_function_replaces_a_native_objective():
    weight = np.linspace(1, 2, 30)
    data = training_data([10, 20], seed=1, weight=weight)
    scores = np.random.default_rng(1).normal(size=30)
    got = run(PythonObjective(data, squares), scores)
    for array, want in zip(got, run(SquaredError(data), scores), strict=True):
        np.testing.assert_allclose(array, want, rtol=1e-6)


def test_vectorised_function_sees_queries():
    seen = []
    data = training_data([2, 0, 3])
    run(
        PythonObjective(data, lambda s, y, qid: (seen.append(qid), squares(s, y, qid))[1]),
        np.ones(5),
    )
    np.testing.assert_array_equal(seen[0], [0, 0, 2, 2, 2])


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_per_query_function_replaces_a_native_objective(compile, n_threads):
    data = training_data([10, 0, 1, 20] * 5, seed=2, n_threads=n_threads)
    scores = np.random.default_rng(2).normal(size=data.n_documents)
    got = run(PerQueryObjective(data, cross_entropy, compile), scores)
    for array, want in zip(got, run(KullbackLeibler(data), scores), strict=True):
        np.testing.assert_allclose(array, want, rtol=1e-5, atol=1e-7)


def test_works_without_numba(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    data = training_data([10, 5], seed=2)
    gradients, _ = run(PerQueryObjective(data, cross_entropy), np.zeros(15))
    np.testing.assert_allclose(gradients, run(KullbackLeibler(data), np.zeros(15))[0], atol=1e-7)


def test_functions_that_numba_cannot_compile_say_so():
    def with_a_generator(scores, y):
        return np.array(sorted(scores, key=str)), {"no": "array"}

    with pytest.raises(ValueError, match="compile=False"):
        run(PerQueryObjective(training_data([4]), with_a_generator), np.zeros(4))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda s, y, q: s, "must return gradients and hessians, not ndarray"),
        (lambda s, y, q: None, "not NoneType"),
        (lambda s, y, q: (s[1:], s), r"gradients of shape \(5,\) for 6"),
        (lambda s, y, q: (s, s - 1), "hessians with the value -1.0 for document 0 of query 0"),
        (lambda s, y, q: (s + np.where(q == 1, np.nan, 0), s), "nan for document 0 of query 1"),
    ],
)
def test_wrong_results_are_named(function, message):
    with pytest.raises(ValueError, match=message):
        run(PythonObjective(training_data([2, 4]), function), np.zeros(6))
