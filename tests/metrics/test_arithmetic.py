"""One arithmetic: metrics, objectives and forests give labels and ranks the same values."""

import warnings

import numpy as np
import pytest

import rankgrove
from rankgrove import DataError, DataWarning, metric
from rankgrove.metrics import arithmetic, metric_names
from rankgrove.metrics.registry import metric_class

BINARY = [
    name
    for name in metric_names()
    if {"relevant_from", "ties"} <= metric_class(name).defaults().keys()
]


def fit(name, y, **params):
    X = np.arange(len(y), dtype=np.float32)[:, None]
    rankgrove.make_ranker(name, n_estimators=1, **params).fit(X, y, group_sizes=[len(y)])


def measure(name, y):
    metric(name)(y, np.arange(len(y)), group_sizes=[len(y)])


# How each of the three asks for a gain.
WAYS = {
    "metric": lambda y, gain, table: measure(f"ndcg(gain={gain})", y),
    "lambdamart": lambda y, gain, table: fit("lambdamart", y, gain=table or gain),
    "klmart": lambda y, gain, table: fit("klmart", y, gain=table or gain),
    "rf-list": lambda y, gain, table: fit("rf-list", y, metric=f"ndcg(gain={gain})"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("label", "gain", "table", "message"),
    [
        (54, "exp", None, r"\(54\) is too large for the gain 2\^label - 1"),
        (1024, "exp", None, r"\(1024\) is too large for the gain 2\^label - 1"),
        (3, "0/1/3", [0, 1, 3], r"\(3\) lies beyond the table of gains, which ends at label 2"),
        (0.5, "0/1/3", [0, 1, 3], r"\(0.5\) is not a whole number: a table of gains needs one"),
    ],
)
def test_a_label_without_a_gain_is_the_same_error_everywhere(way, label, gain, table, message):
    with pytest.raises(DataError, match=message):
        WAYS[way](np.array([0.0, 1.0, 1.0, label]), gain, table)


@pytest.mark.filterwarnings("ignore:.*every label is")
@pytest.mark.parametrize("gain", ["exp", "linear"])
def test_err_is_trained_on_the_probabilities_that_it_is_measured_on(gain):
    from rankgrove.metrics.arithmetic import label_values, satisfaction_value

    labels = np.array([0.0, 1, 2, 3, 4])
    trained = label_values(labels, satisfaction_value(gain, 4.0))
    measured = [metric("err", gain=gain)([label], [1.0], group_sizes=[1]) for label in labels]
    np.testing.assert_array_equal(trained, measured)
    expected = (2**labels - 1) / 16 if gain == "exp" else labels / 4
    np.testing.assert_allclose(trained, expected)


def test_err_has_no_table_and_no_label_above_the_scale():
    y = np.array([0.0, 1.0, 3.0])
    for way in (lambda: fit("lambdamart", y, metric="err", max_grade=2.0),
                lambda: measure("err(max_grade=2)", y)):  # fmt: skip
        with pytest.raises(DataError, match=r"label.*\(3\) exceeds max_grade"):
            way()
    with pytest.raises(ValueError, match="gain of err must be 'exp' or 'linear', not \\[0, 1, 3"):
        fit("lambdamart", y, metric="err", gain=[0, 1, 3, 4])


def test_ideal_dcg_is_the_dcg_of_the_best_order():
    rng = np.random.default_rng(0)
    sizes = np.array([3, 0, 7, 1, 12])
    offsets = np.r_[0, np.cumsum(sizes)]
    y = rng.integers(0, 5, offsets[-1]).astype(float)
    for k in (1, 5, 100):
        factors = arithmetic.discounts("log2", k)
        gains = arithmetic.label_values(y, arithmetic.gain_value("exp"))
        ideal = arithmetic.ideal_dcg(offsets, gains, factors)
        np.testing.assert_array_equal(ideal, metric("dcg", k=k).per_query(y, y, group_sizes=sizes))
    np.testing.assert_array_equal(
        arithmetic.ideal_dcg(offsets, gains), metric("dcg").per_query(y, y, group_sizes=sizes)
    )
    assert arithmetic.over_ideal(np.ones(2), np.array([0.0, 4.0])).tolist() == [0.0, 0.25]


def test_many_different_labels():
    y = np.random.default_rng(0).random(5000) * 40
    values = arithmetic.label_values(y, arithmetic.gain_value("exp"))
    np.testing.assert_allclose(values, 2**y - 1, rtol=1e-14)


@pytest.mark.parametrize("name", BINARY)
def test_labels_below_the_threshold_everywhere_are_warned_of(name):
    y, scores = [0.2, 0.9, 0.0], [1, 2, 3]
    with pytest.warns(DataWarning, match=r"no label is relevant: the highest is 0.9, relevant_fr"):
        value = metric(name)(y, scores, group_sizes=[3])
    assert value == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric(name, relevant_from=0.9)(y, scores, group_sizes=[3])
        metric("ndcg")(y, scores, group_sizes=[3])


def test_equal_labels_are_warned_of_once_per_metric():
    with pytest.warns(DataWarning) as caught:
        rankgrove.evaluate([1, 1], [1, 2], qid=[1, 1], metrics=["ndcg@5", "map", "rmse"])
    assert [str(warning.message).partition(",")[0] for warning in caught] == [
        "ndcg@5: every label is 1",
        "map: every label is 1",
    ]


def test_the_advice_of_a_warning_works():
    with pytest.warns(DataWarning, match="as in 'map\\(relevant_from=0.9\\)'"):
        metric("map")([0.2, 0.9], [1, 2], group_sizes=[2])
    assert metric("map(relevant_from=0.9)")([0.2, 0.9], [1, 2], group_sizes=[2]) == 1
