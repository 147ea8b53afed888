"""Names, parameters, call forms, weights and errors of metrics."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.ranking_cases import random_case
from rankgrove import Metric, QueryGroups, evaluate, metric
from rankgrove.metrics import PRESETS, metric_names
from rankgrove.metrics.listwise_metric import as_listwise_metric
from rankgrove.metrics.parameters import PARAMETERS
from rankgrove.metrics.registry import metric_class

METRICS = metric_names()

numbers = st.floats(0, 50, allow_nan=False)
VALUES = {
    "bins": st.integers(1, 1000),
    "k": st.none() | st.integers(1, 10**9),
    "gain": st.sampled_from(["exp", "linear"]) | st.lists(numbers, min_size=1).map(tuple),
    "discount": st.sampled_from(["log2", "letor"])
    | st.tuples(st.sampled_from(["alpha", "beta"]), numbers).map(lambda t: f"{t[0]}:{t[1]!r}"),
    "empty": st.just("skip") | st.floats(0, 1),
    "ties": st.sampled_from(["input", "average", "worst", "best", "doc_id"]),
    "short": st.sampled_from(["pad", "cut", "zero"]),
    "relevant_from": numbers | numbers.map(lambda x: f">{x!r}"),
    "denominator": st.sampled_from(["relevant", "k"]),
    "max_grade": st.floats(0.001, 53),
    "persistence": st.floats(0.001, 0.999),
    "variant": st.sampled_from(["a", "b"]),
}


@st.composite
def metrics(draw):
    family = metric_class(draw(st.sampled_from(sorted(METRICS))))
    values = (
        {**VALUES, "gain": st.sampled_from(["exp", "linear"])} if family.name == "err" else VALUES
    )
    declared = draw(st.sets(st.sampled_from(sorted(family.defaults()) or ["k"])))
    return family(**{key: draw(values[key]) for key in declared if key in family.defaults()})


@given(metrics())
def test_text_of_any_metric_reads_back_as_an_equal_one(measured):
    assert metric(str(measured)) == measured
    assert hash(metric(str(measured))) == hash(measured)
    assert str(metric(str(measured))) == str(measured)
    assert eval(repr(measured)) == measured
    assert pickle.loads(pickle.dumps(measured)) == measured == copy.deepcopy(measured)


@pytest.mark.filterwarnings("ignore:.*no label is relevant")
@pytest.mark.filterwarnings("ignore:no label is relevant")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", METRICS)
def test_every_preset_completes_every_metric(name, preset):
    measured = metric(name, preset=preset)
    assert metric(str(measured)) == measured
    case = random_case(0, max_grade=1)
    assert np.isfinite(measured(case.y, case.scores, qid=case.qid))


def test_every_parameter_is_declared_by_some_metric():
    declared = {key for name in METRICS for key in metric_class(name).defaults()}
    assert declared == set(PARAMETERS)


def test_registered_name_is_the_name_of_the_class():
    assert [metric_class(name).name for name in METRICS] == list(METRICS)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("NDCG@10", "ndcg@10"),
        (" ndcg @ 10 ( gain = linear , empty=skip ) ", "ndcg@10(gain=linear,empty=skip)"),
        ("ndcg(k=10)", "ndcg@10"),
        ("ndcg@10(empty=0.0,ties=average)", "ndcg@10"),
        ("ndcg(gain=0/1.0/3)", "ndcg(gain=0/1/3)"),
        ("precision@5", "p@5"),
        ("rr", "mrr"),
        ("ndcg(discount=beta:1.0)", "ndcg(discount=beta:1)"),
    ],
)
def test_spellings(text, same_as):
    assert metric(text) == metric(same_as)
    assert str(metric(text)) == same_as


def test_parameters_given_win_over_the_preset():
    assert str(metric("ndcg@5(empty=skip)", preset="lightgbm")) == "ndcg@5(ties=input,empty=skip)"
    assert str(metric("ndcg@5", preset="letor4", gain="linear")) == (
        "ndcg@5(gain=linear,discount=letor,ties=input,short=zero)"
    )


def test_direction():
    directions = {name: metric(name).greater_is_better for name in METRICS}
    assert [name for name, up in directions.items() if not up] == [
        "class-error",
        "ece",
        "err-bound",
        "rmse",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gini", "unknown metric 'gini': choose from class-error, dcg, "),
        ("QueryAUC", "unknown metric 'QueryAUC': did you mean 'pair-accuracy'"),
        ("PrecisionAt", "did you mean 'p'"),
        ("pre@5", "did you mean 'p'"),
        ("PFound", "did you mean 'err'"),
        ("lambdarank", "did you mean 'ndcg'"),
        (
            "ndgc@10",
            "unknown metric 'ndgc': did you mean 'ndcg'. There are class-error, dcg, ece, endcg",
        ),
        ("ndcg@0", "k must be a whole number of at least 1, or None for the whole list, not '0'"),
        ("ndcg@ten", "k must be .* not 'ten'"),
        ("ndcg@1.5", "k must be .* not '1.5'"),
        ("ndcg(depth=3)", "ndcg has no parameter 'depth': its parameters are k, gain, discount"),
        ("rmse@10", "rmse has no parameter 'k'"),
        ("ndcg@10(gain)", "cannot read the option 'gain'"),
        ("ndcg@10(gain=exp,gain=exp)", "gain is given twice"),
        ("ndcg@10)", "cannot read the metric"),
        ("", "cannot read the metric ''"),
        ("ndcg(gain=cubic)", "gain must be 'exp', 'linear', or a table"),
        ("ndcg(gain=0/-1)", "gain must be"),
        ("ndcg(empty=2)", "empty must be a number from 0 to 1, or 'skip'"),
        ("ndcg(empty=nan)", "empty must be"),
        ("ndcg(ties=luck)", "ties must be 'average', 'input', 'worst', 'best' or 'doc_id'"),
        ("ndcg(discount=alpha)", "discount must be"),
        ("ndcg(discount=beta:-1)", "discount must be"),
        ("map(relevant_from=-1)", "relevant_from must be"),
        ("err(max_grade=0)", "max_grade must be"),
        ("err(gain=0/1)", "gain of err must be 'exp' or 'linear'"),
        ("rbp(persistence=1)", "persistence must be"),
        (10, "cannot read the metric 10"),
    ],
)
def test_bad_metric_is_refused_with_what_is_valid(text, message):
    with pytest.raises(ValueError, match=message):
        metric(text)


def test_bad_preset_and_double_parameters_are_refused():
    with pytest.raises(ValueError, match="unknown preset 'foo': choose from letor3, letor4"):
        metric("ndcg", preset="foo")
    with pytest.raises(ValueError, match="k is given twice"):
        metric("ndcg@10", k=5)
    with pytest.raises(ValueError, match="a preset needs the name"):
        metric(metric("ndcg@10"), preset="trec")


def test_a_metric_is_frozen_and_can_be_replaced():
    measured = metric("ndcg@10")
    with pytest.raises(AttributeError):
        measured.k = 5
    assert measured.replace(k=5, empty="skip") == metric("ndcg@5(empty=skip)")
    assert metric(measured) is measured
    assert isinstance(measured, Metric)


# Data ----------------------------------------------------------------------------------------


@pytest.fixture
def case():
    return random_case(11)


@pytest.mark.parametrize("name", METRICS)
def test_all_call_forms_agree(name, case):
    measured = metric(name)
    groups = QueryGroups.from_qid(case.qid)
    value = measured(case.y, case.scores, qid=case.qid)
    assert isinstance(value, float)
    assert measured(case.y, case.scores, group_sizes=case.sizes) == value
    assert measured(case.y, case.scores, groups=groups) == value
    assert measured(list(case.y), list(case.scores), qid=[f"q{q}" for q in case.qid]) == value
    prepared = measured.prepare(case.y, groups)
    assert prepared(case.scores) == prepared(case.scores.astype(np.float32)) == value
    assert measured.prepare(case.y, groups.offsets)(case.scores) == value
    np.testing.assert_array_equal(
        prepared.per_query(case.scores), measured.per_query(case.y, case.scores, qid=case.qid)
    )


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_interleaved_queries_keep_the_callers_order(name, dtype, case):
    rng = np.random.default_rng(0)
    # A shuffle that keeps the order of rows inside each query.
    slots = rng.permutation(case.qid)
    rows = np.empty(len(slots), int)
    for q in range(len(case.sizes)):
        rows[slots == q] = np.flatnonzero(case.qid == q)
    measured = metric(name)
    groups = QueryGroups.from_qid(slots)
    assert groups.order is not None
    values = measured.per_query(case.y[rows], case.scores[rows].astype(dtype), groups=groups)
    expected = measured.per_query(case.y, case.scores, qid=case.qid)
    np.testing.assert_array_equal(values, expected[groups.ids])


@pytest.mark.parametrize("name", METRICS)
def test_number_of_threads_changes_no_bit(name):
    case = random_case(12, n_queries=3000)
    values = [
        metric(name)(case.y, case.scores, qid=case.qid, n_jobs=n_jobs) for n_jobs in (1, 2, 5)
    ]
    assert values[0] == values[1] == values[2]


def test_empty_query_counts_with_its_own_weight():
    y, scores, sizes = [1, 0, 0, 0], [1.0, 0.0, 1.0, 0.0], [2, 2]
    weight = [1.0, 3.0]
    arguments = {"group_sizes": sizes, "query_weight": weight}
    assert metric("ndcg", empty=1)(y, scores, **arguments) == 1.0
    assert metric("ndcg", empty=0)(y, scores, **arguments) == 0.25
    assert metric("ndcg", empty="skip")(y, scores, **arguments) == 1.0
    assert metric("map", empty=0.5)(y, scores, **arguments) == (1 + 3 * 0.5) / 4


def test_weights_equal_repeated_queries(case):
    times = np.arange(len(case.sizes)) % 3
    rows = np.concatenate([np.flatnonzero(case.qid == q) for q in np.repeat(range(60), times)])
    for name in METRICS:
        if name == "ece":
            with pytest.raises(ValueError, match="ece counts all documents alike"):
                metric(name)(case.y, case.scores, group_sizes=case.sizes, query_weight=times)
            continue
        weighted = metric(name)(case.y, case.scores, group_sizes=case.sizes, query_weight=times)
        repeated = metric(name)(
            case.y[rows], case.scores[rows], group_sizes=np.repeat(case.sizes, times)
        )
        assert weighted == pytest.approx(repeated, abs=1e-12), name


@pytest.mark.filterwarnings("ignore:.*every label is")
def test_every_query_skipped_is_nan():
    assert np.isnan(metric("ndcg", empty="skip")([0, 0], [1, 2], group_sizes=[2]))


def test_query_without_documents_counts_as_empty():
    values = metric("ndcg", empty=1).per_query([1, 0], [1, 2], group_sizes=[0, 2, 0])
    assert values[[0, 2]].tolist() == [1.0, 1.0]
    assert np.isnan(metric("rmse").per_query([1, 0], [1, 2], group_sizes=[0, 2, 0])[0])


def test_real_labels_have_a_linear_or_real_exponential_gain():
    y, scores = [0.5, 2.25, 1.0], [3.0, 1.0, 2.0]
    discounts = 1 / np.log2([2, 3, 4])
    assert metric("dcg", gain="linear")(y, scores, group_sizes=[3]) == pytest.approx(
        np.array([0.5, 1.0, 2.25]) @ discounts
    )
    assert metric("dcg")(y, scores, group_sizes=[3]) == pytest.approx(
        (2 ** np.array([0.5, 1.0, 2.25]) - 1) @ discounts
    )


def test_infinite_scores_are_ranked():
    values = metric("mrr").per_query([0, 1, 0], [1.0, np.inf, -np.inf], group_sizes=[3])
    assert values.tolist() == [1.0]


@pytest.mark.parametrize(
    ("name", "y", "scores", "groups", "message"),
    [
        ("ndcg", [1, 0], [1.0, np.nan], {"qid": [1, 1]}, "score of row 1 is NaN"),
        ("ndcg", [1, 0], np.float32([np.nan, 1]), {"qid": [1, 1]}, "score of row 0 is NaN"),
        ("ndcg", [1, 0], [1.0, 2.0], {}, "qid is missing: give one query id per row"),
        ("ndcg", [1, 0], [1, 2], {"qid": [1, 1], "group_sizes": [2]}, "either qid or"),
        ("ndcg", [1, 0], [1.0], {"qid": [1, 1]}, "1 scores but 2 judged rows"),
        ("ndcg", [1], [1.0, 2.0], {"qid": [1, 1]}, "qid has 2 entries, but there are 1 rows"),
        ("ndcg", [1, -1], [1, 2], {"qid": [1, 1]}, r"label of row 1 \(-1\)"),
        ("map", [1, -1], [1, 2], {"qid": [1, 1]}, r"label of row 1 \(-1\)"),
        ("ndcg", [1, np.nan], [1, 2], {"qid": [1, 1]}, "label of row 1 is not a finite number"),
        ("rmse", [1, np.inf], [1, 2], {"qid": [1, 1]}, "label of row 1 is not a finite number"),
        ("ndcg", [1, 54], [1, 2], {"qid": [1, 1]}, r"label of row 1 \(54\) is too large for"),
        ("err", [1, 5], [1, 2], {"qid": [1, 1]}, r"label of row 1 \(5\) exceeds max_grade"),
        ("ndcg(gain=0/1)", [0, 2], [1, 2], {"qid": [1, 1]}, r"row 1 \(2\) lies beyond the table"),
        ("ndcg(gain=0/1)", [0, 0.5], [1, 2], {"qid": [1, 1]}, "is not a whole number"),
        ("ndcg", [[1, 0]], [1, 2], {"qid": [1, 1]}, "labels must have one dimension"),
        ("ndcg", [1, 0], [[1, 2]], {"qid": [1, 1]}, "scores must have one dimension"),
        ("ndcg", ["a", "b"], [1, 2], {"qid": [1, 1]}, "labels must hold numbers, not texts"),
        ("ndcg", ["1", "0"], [1, 2], {"qid": [1, 1]}, "labels must hold numbers, not texts"),
        ("ndcg", [1, 0], [1, 2j], {"qid": [1, 1]}, "scores must hold numbers, not complex128"),
        ("ndcg", np.ma.array([1, 0], mask=[0, 1]), [1, 2], {"qid": [1, 1]}, "label of row 1 is no"),
        ("ndcg", [1, 0], np.ma.array([1, 0], mask=[0, 1]), {"qid": [1, 1]}, "score of row 1 is N"),
        ("ndcg", [1, 0], [1, 2], {"group_sizes": [3]}, "group sizes add up to 3"),
    ],
)
def test_bad_data_is_refused_with_its_place(name, y, scores, groups, message):
    with pytest.raises(ValueError, match=message):
        metric(name)(y, scores, **groups)


def test_rows_in_errors_are_the_callers():
    qid = ["a", "b", "a", "b"]
    with pytest.raises(ValueError, match=r"label of row 2 \(-1\)"):
        metric("ndcg")([0, 0, -1, 0], [1, 2, 3, 4], qid=qid)
    with pytest.raises(ValueError, match="score of row 2 is NaN"):
        metric("ndcg")([0, 0, 1, 0], [1, 2, np.nan, 4], qid=qid)


@pytest.mark.parametrize(
    "weight",
    [[1.0], [1.0, -1.0], [np.nan, 1.0], [[1.0, 2.0]], ["a", "b"], [0.0, 0.0], [1e308, 1e308]],
)
def test_bad_query_weights_are_refused(weight):
    with pytest.raises(ValueError, match="query_weight"):
        metric("ndcg")([0, 1], [1, 2], group_sizes=[1, 1], query_weight=weight)
    with pytest.raises(ValueError, match="query_weight"):
        evaluate([0, 1], [1, 2], group_sizes=[1, 1], query_weight=weight)


def test_a_query_of_weight_0_is_as_if_it_were_not_there():
    y, scores = [0, 1, 2, 1, 0, 2], [1, 2, 3, 5, 4, 3]
    some = evaluate(
        y, scores, group_sizes=[3, 3], query_weight=[1.0, 0.0], metrics=["ndcg", "rmse"]
    )
    alone = evaluate(y[:3], scores[:3], group_sizes=[3], metrics=["ndcg", "rmse"])
    assert some.to_dict() == alone.to_dict()


def test_document_ids_break_ties_as_text_descending():
    y, scores = [0, 1, 0], [1, 1, 1]
    by_id = metric("mrr", ties="doc_id")
    assert by_id(y, scores, group_sizes=[3], doc_ids=["b", "c", "a"]) == 1.0
    assert by_id(y, scores, group_sizes=[3], doc_ids=[8, 10, 9]) == pytest.approx(1 / 3)
    assert by_id(y, scores, group_sizes=[3]) == 0.5
    with pytest.raises(ValueError, match="doc_ids has shape"):
        by_id(y, scores, group_sizes=[3], doc_ids=["a"])


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_without_a_cut_off_depends_on_the_order_or_declares_that_it_needs_k(name):
    rng = np.random.default_rng(3)
    y, scores = rng.integers(0, 3, 40), rng.random(40)
    measured = metric(name)
    zero = 0.5 if name == "filtered-dcg" else 0.0  # it reads signs
    sizes = {"group_sizes": [10] * 4}
    same = np.array_equal(measured.per_query(y, scores - zero, **sizes),
                          measured.per_query(y, 1 - scores - zero, **sizes))  # fmt: skip
    assert same == measured.needs_k
    if measured.needs_k:
        assert measured.params["k"] is None
        with pytest.raises(ValueError, match=f"{name} needs a k, as in '{name}@10'"):
            as_listwise_metric(name)
