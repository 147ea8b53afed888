import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from tests.boosting.objectives.support import run, training_data
from tests.oracles import list_losses as oracle

from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.plrank import PlackettLuceLikelihood
from rankgrove.data.core.queries import QueryGroups


def distinct_labels(n, seed=0, **options):
    """One query whose ground-truth permutation is unique."""
    y = np.random.default_rng(seed).permutation(n).astype(float)
    return TrainingData(y, np.array([0, n]), **options)


def loss_of(data, k):
    permutation = np.argsort(-data.y)
    return lambda scores: oracle.plackett_luce(scores, permutation, k)


@pytest.mark.parametrize(("n", "k"), [(2, 10), (7, 3), (12, 10), (40, 10), (5, 1)])
def test_gradient_is_the_derivative_of_the_likelihood(n, k):
    data = distinct_labels(n, seed=n)
    scores = np.random.default_rng(n).normal(size=n) * 2
    gradients, _ = run(PlackettLuceLikelihood(data, k), scores)
    np.testing.assert_allclose(gradients, oracle.gradient(loss_of(data, k), scores), atol=1e-6)


def test_example_of_the_paper():
    data = TrainingData(np.array([3.0, 2.0, 1.0, 0.0]), np.array([0, 4]))
    scores = np.array([0.3, -0.2, 1.0, 0.1])
    e = np.exp(scores)
    first, second = e / e.sum(), e / e[1:].sum()
    objective = PlackettLuceLikelihood(data, k=2)
    gradients, _ = run(objective, scores)
    np.testing.assert_allclose(
        -gradients,
        [1 - first[0], 1 - first[1] - second[1], -first[2] - second[2], -first[3] - second[3]],
        atol=1e-7,
    )
    leaf = np.array([1, 2, 1, 2], np.int32)  # d1 and d3 fall into one leaf
    slope = 1 - first[0] - first[2] - second[2]
    p = first[0] + first[2]
    second_derivative = p * (p - 1) + second[2] * (second[2] - 1)
    values = objective.leaf_values(scores[None], leaf, 3, 0)
    np.testing.assert_allclose(values[1], -slope / second_derivative, rtol=1e-12)
    assert values[0] == 0.0


def test_ties_are_averaged_over_their_orders():
    labels = np.array([1.0, 2.0, 0.0, 1.0, 1.0])
    data = TrainingData(labels, np.array([0, 5]), seed=4)
    scores = np.array([0.5, -1.0, 0.2, 1.5, -0.3])
    permutations = list(oracle.ground_truth_permutations(labels))
    assert len(permutations) == 6
    mean = np.mean(
        [
            oracle.gradient(lambda s, p=p: oracle.plackett_luce(s, p, 3), scores)
            for p in permutations
        ],
        axis=0,
    )
    gradients, _ = run(PlackettLuceLikelihood(data, 3, n_permutations=10000), scores)
    np.testing.assert_allclose(gradients, mean, atol=0.01)


def test_newton_step_matches_finite_differences_and_a_line_search():
    data = distinct_labels(25, seed=3)
    loss = loss_of(data, 10)
    scores = np.random.default_rng(3).normal(size=25)
    leaf = np.random.default_rng(4).integers(0, 3, 25).astype(np.int32)
    values = PlackettLuceLikelihood(data).leaf_values(scores[None], leaf, 3, 0)
    for node in range(3):
        members = leaf == node
        along = lambda v, m=members: loss(scores + v * m)  # noqa: E731
        h = 1e-3
        slope = (along(h) - along(-h)) / (2 * h)
        bend = (along(h) - 2 * along(0.0) + along(-h)) / h**2
        assert values[node] == pytest.approx(-slope / bend, rel=1e-4)
        best = minimize_scalar(along, bounds=(-20, 20), method="bounded").x
        assert np.sign(best) == np.sign(values[node])
        position = np.zeros(1)
        shifted = scores.copy()
        for _ in range(50):  # Newton steps repeated end where the line search ends
            step = PlackettLuceLikelihood(data).leaf_values(shifted[None], leaf, 3, 0)[node]
            position += np.clip(step, -1, 1)
            shifted = scores + position * members
        assert position[0] == pytest.approx(best, abs=1e-3)


@pytest.mark.slow
@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=8),
    k=st.integers(1, 12),
    n_permutations=st.integers(1, 8),
    seed=st.integers(0, 1000),
)
def test_merged_contexts_change_nothing(sizes, k, n_permutations, seed):
    data = training_data(sizes, n_grades=3, seed=seed)
    scores = np.random.default_rng(seed).normal(size=data.n_documents) * 3
    merged = PlackettLuceLikelihood(data, k, n_permutations)
    unmerged = PlackettLuceLikelihood(data, k, n_permutations, merge=False)
    np.testing.assert_allclose(run(merged, scores)[0], run(unmerged, scores)[0], atol=1e-6)
    leaf = (np.arange(data.n_documents) % 4).astype(np.int32)
    np.testing.assert_allclose(
        merged.leaf_values(scores[None], leaf, 4, 0),
        unmerged.leaf_values(scores[None], leaf, 4, 0),
        rtol=1e-9,
    )
    assert merged.contexts.n_contexts <= unmerged.contexts.n_contexts
    assert unmerged.compression in (0.0, 1.0)


def test_merging_saves_contexts_as_in_the_paper(web_data):
    groups = QueryGroups.from_qid(web_data.qid)
    data = TrainingData(groups.grouped(np.asarray(web_data.y, float)), groups.offsets)
    ratios = [PlackettLuceLikelihood(data, 10, n).compression for n in (3, 6, 9)]
    assert ratios == sorted(ratios, reverse=True)
    assert 0.6 < ratios[2] < ratios[0] < 0.97


def test_documents_outside_all_leaves_stay_in_the_contexts():
    data = distinct_labels(12, seed=5)
    scores = np.random.default_rng(5).normal(size=12)
    leaf = np.zeros(12, np.int32)
    leaf[4:] = 1
    everyone = PlackettLuceLikelihood(data).leaf_values(scores[None], leaf, 2, 0)
    leaf[4:] = -1
    some = PlackettLuceLikelihood(data).leaf_values(scores[None], leaf, 2, 0)
    assert some[0] == everyone[0]
    assert some[1] == 0.0


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e300])
def test_huge_score_gaps_stay_finite(scale):
    data = training_data([30, 5, 1], seed=6)
    scores = np.random.default_rng(6).normal(size=36) * scale
    objective = PlackettLuceLikelihood(data, n_permutations=3)
    gradients, _ = run(objective, scores)
    assert np.isfinite(gradients).all()
    values = objective.leaf_values(scores[None], np.arange(36, dtype=np.int32), 36, 0)
    assert (np.abs(values) <= 100.0).all()


def test_queries_without_an_order_are_left_out():
    data = training_data([1, 0, 10], n_grades=1)
    gradients, _ = run(PlackettLuceLikelihood(data), np.arange(11.0))
    assert not gradients.any()


def test_weight_two_equals_the_query_twice():
    once = training_data([15, 20], n_grades=40, zero_share=0, seed=7)
    y, n = np.arange(35.0), 35
    weight = np.r_[np.full(15, 2.0), np.ones(20)]
    weighted = TrainingData(y, once.offsets, weight)
    twice = TrainingData(np.r_[y, y[:15]], np.array([0, 15, 35, 50]))
    scores = np.random.default_rng(7).normal(size=n)
    leaf = (np.arange(n) % 3).astype(np.int32)
    gradients, hessians = run(PlackettLuceLikelihood(weighted), scores)
    plain, _ = run(PlackettLuceLikelihood(TrainingData(y, once.offsets)), scores)
    np.testing.assert_allclose(gradients, weight * plain, rtol=1e-6)
    np.testing.assert_array_equal(hessians, weight)
    np.testing.assert_allclose(
        PlackettLuceLikelihood(weighted).leaf_values(scores[None], leaf, 3, 0),
        PlackettLuceLikelihood(twice).leaf_values(
            np.r_[scores, scores[:15]][None], np.r_[leaf, leaf[:15]], 3, 0
        ),
        rtol=1e-9,
    )


def test_threads_do_not_change_a_bit():
    results = []
    for n_threads in (1, 2, 3):
        data = training_data([37] * 150, seed=8, n_threads=n_threads)
        scores = np.random.default_rng(8).normal(size=data.n_documents)
        objective = PlackettLuceLikelihood(data, n_permutations=3)
        leaf = (np.arange(data.n_documents) % 31).astype(np.int32)
        results.append(
            (run(objective, scores)[0], objective.leaf_values(scores[None], leaf, 31, 0))
        )
    for gradients, values in results[1:]:
        np.testing.assert_array_equal(gradients, results[0][0])
        np.testing.assert_array_equal(values, results[0][1])
