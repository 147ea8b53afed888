"""Worked examples: the toy ranking on which tools disagree, and the RF paper's Table III."""

import numpy as np
import pytest

from rankgrove import metric

# q1 is graded, q2 has no relevant document, q3 ties all of its documents.
Y = np.array([2, 0, 1, 0, 0, 0, 0, 0, 0, 2, 1])
SCORES = np.array([0.1, 0.9, 0.5, 0.3, 0.2, 0.3, 0.2, 0.1, 1, 1, 1])
SIZES = [5, 3, 3]
DOCID = [str(row) for row in range(11)]


@pytest.mark.parametrize(
    ("preset", "params", "expected"),
    [
        ("lightgbm", {}, [0.4934, 1, 0.6590]),
        ("xgboost", {}, [0.4934, 1, 0.6590]),
        ("xgboost-", {}, [0.4934, 0, 0.6590]),
        ("catboost", {}, [0.5339, 1, 0.6199]),
        ("catboost", {"gain": "exp"}, [0.4934, 1, 0.5869]),
        ("sklearn", {}, [0.5339, 0, 0.8100]),
        ("trec", {}, [0.5339, 0, 0.9502]),
        ("gdeval", {}, [0.4934, np.nan, 0.9639]),
        ("gdeval", {"empty": 0}, [0.4934, 0, 0.9639]),
        ("letor3", {}, [0.5730, 0, 0]),
        ("letor4", {}, [0.5730, 0, 0]),
        ("mslr", {}, [0.5730, 0, 0]),
        ("yahoo", {}, [0.4934, 1, 0.6590]),
        ("ranklib", {}, [0.4934, 0, 0.6590]),
        (None, {"ties": "input"}, [0.4934, 0, 0.6590]),
    ],
)
def test_ndcg_at_5_of_the_toy_ranking(preset, params, expected):
    measured = metric("ndcg@5", preset=preset, **params)
    values = measured.per_query(Y, SCORES, group_sizes=SIZES, doc_ids=DOCID)
    np.testing.assert_allclose(values, expected, atol=5e-5)


@pytest.mark.parametrize("preset", ["letor3", "letor4", "mslr"])
def test_letor_ndcg_drops_to_0_where_the_list_ends(preset):
    values = [
        metric(f"ndcg@{k}", preset=preset).per_query(Y, SCORES, group_sizes=SIZES)[2]
        for k in (3, 4)
    ]
    np.testing.assert_allclose(values, [0.9077, 0], atol=5e-5)


def test_table_iii_of_the_random_forest_paper():
    """Ibrahim and Carman, Table III: seven documents in three leaves."""
    labels = [0, 2, 1, 1, 0, 1, 1]
    scores = [1.7, 1.7, 1.7, 0.9, 0.9, 0.4, 0.4]
    expected_gains = np.array([4 / 3] * 3 + [0.5] * 2 + [1.0] * 2)
    discounts = 1 / np.log2(np.arange(7) + 2)
    dcg = expected_gains @ discounts
    ideal = np.array([3, 1, 1, 1, 1, 0, 0]) @ discounts
    assert metric("endcg")(labels, scores, group_sizes=[7]) == pytest.approx(dcg / ideal, abs=1e-12)
    assert metric("dcg", ties="average")(labels, scores, group_sizes=[7]) == pytest.approx(dcg)
    # The expected gain of each rank, from the differences of the expected DCG at each cut-off.
    curve = [
        metric("dcg", k=k, ties="average", discount="alpha:0")(labels, scores, group_sizes=[7])
        for k in range(1, 8)
    ]
    np.testing.assert_allclose(np.diff([0, *curve]), expected_gains, atol=1e-12)
