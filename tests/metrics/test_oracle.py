"""Every metric, with every tie rule and parameter, against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.ranking_metrics import query_value
from rankgrove import metric
from rankgrove.metrics.registry import metric_class, metric_names

METRIC_TEXTS = [
    "ndcg", "ndcg@1", "ndcg@3", "ndcg@3(gain=linear)", "ndcg@4(gain=0/1/5/5/30,empty=1)",
    "ndcg(discount=alpha:0.1,empty=skip)", "ndcg@5(discount=beta:0.5)", "ndcg@4(discount=letor)",
    "ndcg@4(short=zero)", "endcg", "dcg", "dcg@2(gain=linear)", "meanndcg", "meanndcg@3",
    "meanndcg(discount=letor,gain=linear)", "err", "err@3", "err(gain=linear,max_grade=5)",
    "map", "map@3", "map@3(denominator=k,relevant_from=2)", "map(relevant_from=>0,empty=1)", "mrr",
    "mrr@2",
    "mrr@3(relevant_from=3,empty=skip)", "p", "p@3", "p@4(short=cut)", "p@4(short=zero)", "recall",
    "recall@2", "rbp", "rbp@3(persistence=0.5,relevant_from=2)",
]  # fmt: skip
TIES = ["input", "average", "worst", "best", "doc_id"]

small_query = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=6)


def test_every_metric_with_tie_rules_has_a_text():
    with_ties = {name for name in metric_names() if "ties" in metric_class(name).defaults()}
    assert with_ties <= {metric(text).name for text in METRIC_TEXTS}


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("text", METRIC_TEXTS)
def test_value_follows_the_definition(text, ties):
    measured = metric(text).replace(ties=ties)
    rng = np.random.default_rng(len(text))
    sizes = rng.integers(1, 7, 40)
    qid = np.repeat(np.arange(40), sizes)
    y = rng.integers(0, 5, len(qid)) * (rng.random(len(qid)) < 0.7)
    y[qid % 9 == 0] = 0
    scores = rng.integers(0, 4, len(qid)) / 2
    expected = [query_value(measured, y[qid == q], scores[qid == q]) for q in range(40)]
    np.testing.assert_allclose(measured.per_query(y, scores, qid=qid), expected, rtol=0, atol=1e-12)


ERRORS = ("class-error", "err-bound", "err-bound(max_grade=2)")


@pytest.mark.parametrize("text", ["tau", "tau(variant=a,empty=0)", "rmse", "filtered-dcg", *ERRORS])
def test_value_without_tie_rule_follows_the_definition(text):
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 9, 40)
    qid = np.repeat(np.arange(40), sizes)
    y, scores = rng.integers(-1, 3, len(qid)), rng.integers(-2, 4, len(qid))
    expected = [query_value(metric(text), y[qid == q], scores[qid == q]) for q in range(40)]
    values = metric(text).per_query(y, scores, qid=qid)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*every label is")
@given(documents=small_query, text=st.sampled_from(METRIC_TEXTS), ties=st.sampled_from(TIES))
def test_any_small_query_follows_the_definition(documents, text, ties):
    measured = metric(text).replace(ties=ties)
    y, scores = map(list, zip(*documents, strict=True))
    value = measured.per_query(y, scores, group_sizes=[len(y)])[0]
    np.testing.assert_allclose(value, query_value(measured, y, scores), rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*every label is")
@given(documents=small_query, text=st.sampled_from(METRIC_TEXTS))
def test_worst_and_best_case_bound_every_tie_rule(documents, text):
    y, scores = map(list, zip(*documents, strict=True))
    sizes = [len(y)]
    value = {
        ties: metric(text).replace(ties=ties).per_query(y, scores, group_sizes=sizes)[0]
        for ties in TIES
    }
    if np.isnan(value["worst"]):
        assert all(np.isnan(v) for v in value.values())
        return
    for ties in ("input", "average", "doc_id"):
        assert value["worst"] - 1e-12 <= value[ties] <= value["best"] + 1e-12


@pytest.mark.filterwarnings("ignore:.*every label is")
@given(
    documents=small_query,
    text=st.sampled_from(METRIC_TEXTS),
    ties=st.sampled_from(TIES),
    scale=st.sampled_from([0.5, 2.0, 8.0]),
)
def test_order_preserving_transforms_of_scores_change_nothing(documents, text, ties, scale):
    measured = metric(text).replace(ties=ties)
    y, scores = (np.array(column) for column in zip(*documents, strict=True))
    values = [
        measured.per_query(y, transformed, group_sizes=[len(y)])[0]
        for transformed in (scores, scale * scores - 3, np.exp(scores), scores.astype(np.float32))
    ]
    np.testing.assert_array_equal(values, values[:1] * 4)


@pytest.mark.parametrize("k", [1, 5, 10, 31, 32, 33, 100, 127, 500, None])
@pytest.mark.parametrize("ties", ["input", "average", "worst"])
def test_long_queries_are_ranked_exactly(k, ties):
    rng = np.random.default_rng(3)
    sizes = np.array([1, 2, 127, 128, 129, 255, 256, 257, 300, 1000, 2500])
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.integers(0, 5, len(qid))
    scores = np.round(rng.normal(size=len(qid)), 2)
    expected = [_dcg(y[qid == q], scores[qid == q], k, ties) for q in range(len(sizes))]
    values = metric("dcg", k=k, ties=ties).per_query(y, scores, qid=qid)
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def _dcg(y, scores, k, ties):
    gains = 2.0**y - 1
    if ties == "average":
        for score in np.unique(scores):
            gains[scores == score] = gains[scores == score].mean()
    order = np.lexsort((y if ties == "worst" else np.arange(len(y)), -scores))
    ranked = gains[order][:k]
    return np.sum(ranked / np.log2(np.arange(len(ranked)) + 2))


@pytest.mark.parametrize("n", [50, 128, 1000])
def test_scores_that_differ_in_their_last_bits_are_told_apart(n):
    rng = np.random.default_rng(n)
    y = rng.integers(0, 2, n)
    scores = 1 + rng.integers(0, n, n) * np.finfo(float).eps
    order = np.argsort(-scores, kind="stable")
    expected = np.sum(y[order] / np.log2(np.arange(n) + 2))
    value = metric("dcg", ties="input")(y, scores, group_sizes=[n])
    assert value == pytest.approx(expected, abs=1e-12)


def test_negative_zero_ties_with_zero():
    assert metric("mrr", ties="input")([0, 1], [-0.0, 0.0], group_sizes=[2]) == 0.5
    assert metric("mrr", ties="average")([0, 1], [-0.0, 0.0], group_sizes=[2]) == 0.75


def test_a_perfect_ranking_has_an_ndcg_of_exactly_1():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(200), 37)
    y = rng.integers(0, 5, len(qid))
    for text in ("ndcg", "ndcg@10", "ndcg@5(discount=beta:0.3)", "meanndcg"):
        assert metric(text)(y, y, qid=qid) == 1.0


def test_expected_err_of_a_long_tie_block_is_exact():
    # All orders of m documents of which r satisfy with probability p: by symmetry the chance that
    # the user is still there after j documents depends on how many of the r were among them.
    from scipy.stats import hypergeom

    m, r, p = 900, 40, 15 / 16
    y = np.repeat([4.0, 0.0], [r, m - r])
    j = np.arange(m + 1)
    found = np.arange(r + 1)
    passes = hypergeom.pmf(found[None, :], m, r, j[:, None]) @ (1 - p) ** found
    expected = np.sum((passes[:-1] - passes[1:]) / (j[:-1] + 1))
    value = metric("err", ties="average")(y, np.zeros(m), group_sizes=[m])
    assert value == pytest.approx(expected, abs=1e-10)


@pytest.mark.filterwarnings("ignore:.*every label is")
@given(documents=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_the_loss_of_err_is_within_the_bound_of_classification_errors(documents):
    """Theorem 1 of Mohan, Chen and Weinberger, for the worst order of equal grades."""
    y, predicted = map(list, zip(*documents, strict=True))
    sizes = {"group_sizes": [len(y)]}
    loss = metric("err")(y, y, **sizes) - metric("err(ties=worst)")(y, predicted, **sizes)
    assert loss <= metric("err-bound")(y, predicted, **sizes) + 1e-12


def test_the_mean_of_the_classification_error_is_over_documents():
    y, scores = [0, 1, 2, 3], [0.4, 1.6, 2.0, 0.0]
    assert metric("class-error")(y, scores, group_sizes=[3, 1]) == pytest.approx(0.5)
    assert metric("class-error")(y, scores, group_sizes=[3, 1], query_weight=[1, 3]) == (
        pytest.approx((1 + 3) / 6)
    )
