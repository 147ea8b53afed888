from functools import partial

import numpy as np
import pytest
from tests.boosting.objectives.support import per_query, run, training_data
from tests.oracles import lambdas as oracle

from rankgrove import metric
from rankgrove.boosting.objectives.lambdamart import LambdaGradients
from rankgrove.errors import DataError, DataWarning

SIZES = [1, 7, 0, 40, 2, 13, 90]
ORACLE = {
    "ndcg": oracle.ndcg,
    "map": oracle.average_precision,
    "err": oracle.expected_reciprocal_rank,
    "mrr": oracle.reciprocal_rank,
}


def value_of(metric, y):
    if metric == "ndcg":
        return 2.0**y - 1
    if metric == "err":
        return (2.0**y - 1) / 16
    return (y >= 1).astype(float)


def expected(data, scores, metric, **options):
    measure = ORACLE[metric]
    if metric == "ndcg" and "k" not in options:
        measure = partial(oracle.ndcg, ideal_k=options.get("truncation"))
    function = partial(oracle.lambdas_of_query, metric=measure, **options)
    return per_query(data, function, scores, value_of(metric, data.y))


def assert_close(got, want):
    scale = np.abs(want).max() + 1e-12
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=3e-6 * scale)


@pytest.mark.parametrize(
    ("metric", "k", "truncation"),
    [
        (metric, k, truncation)
        for metric in ORACLE
        for k, truncation in [(None, None), (10, None), (None, 5), (5, 12)]
        if metric != "map" or k is None
    ],
)
@pytest.mark.parametrize("norm", [False, True])
def test_matches_the_definition(metric, k, truncation, norm):
    data = training_data(SIZES, seed=3)
    scores = np.random.default_rng(1).normal(size=data.n_documents) * 2
    objective = LambdaGradients(
        data,
        metric,
        k,
        truncation,
        1.3,
        query_norm=norm,
        difference_norm=norm,
        max_grade=4 if metric == "err" else None,
    )
    gradients, hessians = run(objective, scores)
    want_gradients, want_hessians = expected(
        data,
        scores,
        metric,
        **{"k": k} if k else {},
        truncation=truncation or 10**9,
        sigma=1.3,
        query_norm=norm,
        difference_norm=norm,
    )
    assert np.abs(want_gradients).max() > 1e-3
    assert_close(gradients, want_gradients)
    assert_close(hessians, want_hessians)


@pytest.mark.parametrize("metric", ["ndcg", "map", "err", "mrr"])
def test_tied_scores_rank_in_data_order(metric):
    data = training_data(SIZES, seed=5)
    scores = np.round(np.random.default_rng(2).normal(size=data.n_documents))
    scores[scores == 0] *= -1.0  # negative zeros tie with zeros
    objective = LambdaGradients(data, metric, query_norm=False, difference_norm=False, max_grade=4)
    got = run(objective, scores)
    for array, want in zip(got, expected(data, scores, metric, truncation=30), strict=True):
        assert_close(array, want)


def test_long_query_is_ranked_like_a_short_one():
    data = training_data([700], seed=6)
    scores = np.round(np.random.default_rng(3).normal(size=700), 2)
    options = {"query_norm": True, "difference_norm": True}
    got = run(LambdaGradients(data, truncation=4, **options), scores)
    for array, want in zip(
        got, expected(data, scores, "ndcg", truncation=4, **options), strict=True
    ):
        assert_close(array, want)


@pytest.mark.parametrize("metric", ["ndcg", "map", "err", "mrr"])
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e300])
def test_huge_score_gaps_stay_finite(metric, scale):
    data = training_data([50, 3], seed=7)
    scores = np.random.default_rng(4).normal(size=53) * scale
    gradients, hessians = run(LambdaGradients(data, metric), scores)
    assert np.isfinite(gradients).all()
    assert np.isfinite(hessians).all()
    assert (hessians >= 0).all()


def test_distant_documents_are_as_exact_as_near_ones():
    data = training_data([60], seed=8)
    scores = np.sort(np.random.default_rng(5).normal(size=60))
    scores[:30] -= 500.0  # the lower half is compared with itself 500 below the top
    got = run(
        LambdaGradients(data, truncation=None, query_norm=False, difference_norm=False), scores
    )
    for array, want in zip(got, expected(data, scores, "ndcg"), strict=True):
        assert_close(array, want)


@pytest.mark.filterwarnings("ignore:no label is relevant")
@pytest.mark.parametrize("metric", ["ndcg", "map", "err", "mrr"])
def test_equal_labels_and_single_documents_have_no_gradient(metric):
    data = training_data([1, 20, 0, 5], n_grades=1)
    gradients, hessians = run(LambdaGradients(data, metric), np.arange(26.0))
    assert not gradients.any()
    assert not hessians.any()


def test_gradients_of_a_query_sum_to_zero():
    data = training_data([80], seed=9)
    gradients, _ = run(LambdaGradients(data), np.random.default_rng(6).normal(size=80))
    assert abs(gradients.sum()) < 1e-6 * np.abs(gradients).sum()


@pytest.mark.parametrize("metric", ["ndcg", "map", "err", "mrr"])
def test_threads_do_not_change_a_bit(metric):
    results = []
    for n_threads in (1, 2, 3):
        data = training_data([37] * 150, seed=10, n_threads=n_threads)
        scores = np.random.default_rng(7).normal(size=data.n_documents)
        results.append(run(LambdaGradients(data, metric), scores))
    for gradients, hessians in results[1:]:
        np.testing.assert_array_equal(gradients, results[0][0])
        np.testing.assert_array_equal(hessians, results[0][1])


def test_weight_multiplies_a_query():
    plain = training_data([20, 30], seed=11)
    weight = np.r_[np.full(20, 2.0), np.full(30, 0.5)]
    weighted = training_data([20, 30], seed=11, weight=weight)
    scores = np.random.default_rng(8).normal(size=50)
    for got, want in zip(
        run(LambdaGradients(weighted), scores), run(LambdaGradients(plain), scores), strict=True
    ):
        np.testing.assert_allclose(got, want * weight, rtol=1e-6)


def test_gain_table_equals_its_formula_and_any_range_works():
    data = training_data([30], seed=12)
    scores = np.random.default_rng(9).normal(size=30)
    table = run(LambdaGradients(data, gain=[0, 1, 3, 7, 15]), scores)
    formula = run(LambdaGradients(data, gain="exp"), scores)
    np.testing.assert_array_equal(table[0], formula[0])
    high = training_data([30], n_grades=200, seed=12)
    assert np.isfinite(run(LambdaGradients(high, gain="linear"), scores)[0]).all()


def test_labels_without_a_gain_are_named():
    data = training_data([30], seed=12)
    with pytest.raises(DataError, match=r"label \(\d\) lies beyond"):
        LambdaGradients(data, gain=[0, 1])
    with pytest.raises(ValueError, match="'square'"):
        LambdaGradients(data, gain="square")
    with pytest.raises(DataError, match="exceeds max_grade"):
        LambdaGradients(data, "err", max_grade=2)
    with pytest.raises(ValueError, match="'dcg'"):
        LambdaGradients(data, "dcg")


@pytest.mark.filterwarnings("ignore:.*every label is")
@pytest.mark.parametrize("gain", ["exp", "linear"])
@pytest.mark.parametrize("max_grade", [None, 6.0])
def test_err_has_the_probabilities_of_the_metric(gain, max_grade):
    data = training_data([30], seed=12)
    value = LambdaGradients(data, "err", gain=gain, max_grade=max_grade).value
    measured = metric("err", gain=gain, max_grade=max_grade or data.y.max())
    single = [measured([label], [0.0], group_sizes=[1]) for label in data.y]
    np.testing.assert_array_equal(value, np.float32(single))


def test_err_without_a_positive_label_learns_nothing():
    data = training_data([5], n_grades=1)
    assert not LambdaGradients(data, "err", gain="linear").value.any()


@pytest.mark.parametrize("metric", ["map", "mrr"])
def test_labels_below_the_threshold_everywhere_are_warned_of(metric):
    data = training_data([5], seed=1)
    with pytest.warns(DataWarning, match="no label is relevant: .* relevant_from=9.* lower rel"):
        LambdaGradients(data, metric, relevant_from=9)
