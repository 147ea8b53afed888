import numpy as np
import pytest
from tests.boosting.objectives.support import run, training_data

import rankgrove
from rankgrove.boosting.objectives.custom import PerQueryObjective, PythonObjective
from rankgrove.boosting.objectives.klmart import KullbackLeibler
from rankgrove.boosting.objectives.mart import SquaredError
from rankgrove.datasets import make_ranking


def squares(scores, y, qid, weight):
    return weight * (scores - y), weight


def cross_entropy(scores, y, qid, weight):
    p = np.exp(scores - scores.max())
    p /= p.sum()
    gains = 2.0**y - 1.0
    total = gains.sum()
    target = gains / total if total > 0 else gains
    share = target.sum()
    return weight * (share * p - target), weight * share * p * (1.0 - p)


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
        PythonObjective(data, lambda s, y, q, w: (seen.append(q), squares(s, y, q, w))[1]),
        np.ones(5),
    )
    np.testing.assert_array_equal(seen[0], [0, 0, 2, 2, 2])


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_per_query_function_replaces_a_native_objective(compiled, n_threads):
    weight = np.linspace(1, 2, 155)
    data = training_data([10, 0, 1, 20] * 5, seed=2, n_threads=n_threads, weight=weight)
    scores = np.random.default_rng(2).normal(size=data.n_documents)
    got = run(PerQueryObjective(data, cross_entropy, compiled), scores)
    for array, want in zip(got, run(KullbackLeibler(data), scores), strict=True):
        np.testing.assert_allclose(array, want, rtol=1e-5, atol=1e-7)


def test_works_without_numba(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    data = training_data([10, 5], seed=2)
    gradients, _ = run(PerQueryObjective(data, cross_entropy), np.zeros(15))
    np.testing.assert_allclose(gradients, run(KullbackLeibler(data), np.zeros(15))[0], atol=1e-7)


def test_functions_that_numba_cannot_compile_say_so():
    pytest.importorskip("numba")

    def with_a_key(scores, y, qid, weight):
        return np.array(sorted(scores, key=repr)), weight

    with pytest.raises(ValueError, match="compiled=False"):
        run(PerQueryObjective(training_data([4]), with_a_key), np.zeros(4))


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
def test_per_query_function_sees_the_number_of_its_query(compiled):
    data = training_data([2, 0, 3])
    objective = PerQueryObjective(data, lambda s, y, q, w: (s + q, w), compiled)
    assert run(objective, np.zeros(5))[0].tolist() == [0, 0, 2, 2, 2]


NAMED = {"query_ids": np.array(["a", "b"])}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda s, y, q, w: s, "returned ndarray: it must return gradients and hessians"),
        (lambda s, y, q, w: None, "returned NoneType: it must return gradients and hessians"),
        (lambda s, y, q, w: {"g": s, "h": s}, "returned dict: it must"),
        (lambda s, y, q, w: (s[1:], s), r"gradients of shape \(5,\) for 6 documents"),
        (lambda s, y, q, w: (s, 1.0), r"hessians of shape \(\) for 6 documents"),
        (lambda s, y, q, w: (s[:, None], s), r"gradients of shape \(6, 1\)"),
        (lambda s, y, q, w: (s * 1j, s), "gradients of type complex128: they must be numbers"),
        (lambda s, y, q, w: (s.astype(str), s), "gradients of type <U"),
        (lambda s, y, q, w: (s, s - 1), "hessians with the value -1.0 for document 0 of query a"),
        (lambda s, y, q, w: (s + 1e300, s), "value 1e[+]300 for document 0 of query a"),
        (lambda s, y, q, w: (s + np.where(q == 1, np.nan, 0), s), "nan for document 0 of query b"),
    ],
)
def test_wrong_results_are_named(function, message):
    with pytest.raises(ValueError, match=message):
        run(PythonObjective(training_data([2, 4], **NAMED), function), np.zeros(6))


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda s, y, q, w: (1.0, 1.0), r"gradients of shape \(\) for 2 documents for query a"),
        (lambda s, y, q, w: (s[:1], w), r"gradients of shape \(1,\) for 2 documents for query a"),
        (lambda s, y, q, w: (s, w[: 2 * (2 - q)]), r"shape \(2,\) for 4 documents for query b"),
        (lambda s, y, q, w: s, "returned ndarray for query a: it must return gradients and"),
        (lambda s, y, q, w: (s + np.nan, w), "value nan for document 0 of query a"),
        (lambda s, y, q, w: (s, w - 2 * q), "value -1.0 for document 0 of query b"),
    ],
)
def test_wrong_results_of_a_query_are_named(function, message, compiled):
    if compiled:
        pytest.importorskip("numba")
    data = training_data([2, 4], **NAMED)
    with pytest.raises(ValueError, match=message):
        run(PerQueryObjective(data, function, compiled), np.zeros(6))


@pytest.mark.parametrize("objective", [PythonObjective, PerQueryObjective])
def test_another_signature_is_refused(objective):
    with pytest.raises(
        ValueError, match=r"must take \(scores, y, qid, weight\), in this order, not \(scores, y\)"
    ):
        objective(training_data([2]), lambda scores, y: (scores, scores))


def test_a_function_cannot_change_the_training_data():
    def spoil(scores, y, qid, weight):
        y[:] = 0
        return scores, weight

    for objective in (
        PythonObjective(training_data([2]), spoil),
        PerQueryObjective(training_data([2]), spoil),
    ):
        with pytest.raises(ValueError, match="read-only"):
            run(objective, np.zeros(2))


@pytest.mark.parametrize(
    "function",
    [
        lambda y_true, y_pred, weight, group: (y_pred - y_true, np.ones(len(y_true))),  # LightGBM's
        lambda y, scores, qid, weight: (scores - y, weight),
        lambda scores, y, weight, qid: (scores - y, weight),
    ],
)
@pytest.mark.parametrize("per_query", [False, True])
def test_arguments_in_another_order_are_refused_by_their_names(function, per_query):
    ranker = rankgrove.CustomMART(objective=function, per_query=per_query, n_estimators=1)
    with pytest.raises(ValueError, match=r"must take \(scores, y, qid, weight\), in this order"):
        ranker.fit(make_ranking(3, seed=1))


def test_other_names_are_taken_by_their_place():
    def function(s, t, q, w):
        return w * (s - t), w

    rankgrove.CustomMART(objective=function, n_estimators=1).fit(make_ranking(3, seed=1))
