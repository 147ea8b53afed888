"""Several metrics at once."""

import csv

import numpy as np
import pytest

from metrics.ranking_cases import random_case
from rankgrove import DataError, Dataset, evaluate, metric
from rankgrove.metrics import metric_names

METRICS = metric_names()

WEIGHABLE = [name for name in METRICS if name != "ece"]
TEXTS = [*WEIGHABLE, "ndcg@3", "ndcg@5(ties=worst)", "map@4(ties=input)", "p@3(ties=doc_id)"]


def test_each_value_is_that_of_the_metric_alone():
    case = random_case(3, longest=200)
    weight = np.linspace(0, 2, len(case.sizes))
    together = evaluate(
        case.y, case.scores, qid=case.qid, metrics=TEXTS, query_weight=weight, doc_ids=case.doc_ids
    )
    for text in TEXTS:
        alone = metric(text)
        arguments = {"qid": case.qid, "doc_ids": case.doc_ids}
        np.testing.assert_array_equal(
            together.values(text), alone.per_query(case.y, case.scores, **arguments)
        )
        assert together[text] == alone(case.y, case.scores, query_weight=weight, **arguments)
    assert together.to_dict() == {text: together[text] for text in TEXTS}


@pytest.mark.filterwarnings("ignore:.*every label is")
def test_preset_applies_to_names_and_not_to_metrics():
    result = evaluate(
        [0, 0], [1, 2], qid=["a", "a"], metrics=["ndcg", metric("ndcg@5")], preset="yahoo"
    )
    assert result.to_dict() == {"ndcg(ties=input,empty=1)": 1.0, "ndcg@5": 0.0}
    assert result["ndcg"] == 1.0


def test_text_is_an_aligned_table_with_the_empty_rule():
    result = evaluate([1, 0, 0], [2, 1, 1], qid=["a", "a", "b"], metrics=["ndcg@10", "tau", "rmse"])
    assert str(result).splitlines() == [
        "metric       mean  empty query  queries",
        "ndcg@10  0.500000            0   2 of 2",
        "tau      1.000000         skip   1 of 2",
        "rmse     1.000000            -   2 of 2",
    ]


def test_csv_has_one_line_per_query(tmp_path):
    result = evaluate([1, 0, 0], [2, 1, 1], qid=["a,1", "a,1", "b"], metrics="mrr(empty=skip)")
    path = tmp_path / "queries.csv"
    assert result.to_csv(path) is None
    rows = list(csv.reader(path.open()))
    assert rows == [["qid", "documents", "mrr(empty=skip)"], ["a,1", "2", "1.0"], ["b", "1", "nan"]]
    assert path.read_text() == result.to_csv()
    assert [p.name for p in tmp_path.iterdir()] == ["queries.csv"]


def test_what_was_not_evaluated_is_refused():
    result = evaluate([1, 0], [2, 1], qid=[1, 1], metrics=["ndcg@10", "ndcg@10(gain=linear)"])
    assert result["ndcg@10"] == 1.0
    with pytest.raises(KeyError, match="map was not evaluated: there are ndcg@10"):
        result["map"]
    with pytest.raises(ValueError, match="metrics is empty"):
        evaluate([1, 0], [2, 1], qid=[1, 1], metrics=[])


def test_a_dataset_brings_labels_queries_and_document_ids():
    case = random_case(3)
    data = Dataset(np.zeros((len(case.y), 1)), case.y, case.qid, doc_ids=case.doc_ids)
    given = evaluate(case.y, case.scores, qid=case.qid, metrics=TEXTS, doc_ids=case.doc_ids)
    taken = evaluate(data, case.scores, metrics=TEXTS)
    np.testing.assert_array_equal(taken.per_query, given.per_query)
    assert metric("ndcg")(data, case.scores) == metric("ndcg")(case.y, case.scores, qid=case.qid)
    with pytest.raises(DataError, match="a Dataset brings its queries"):
        evaluate(data, case.scores, qid=case.qid)


@pytest.mark.parametrize("labels", [["0", "1"], np.array([0, 1], "M8[D]"), np.array([0, 1j])])
def test_labels_that_only_look_like_numbers_are_refused(labels):
    with pytest.raises(DataError, match="labels must hold numbers, not"):
        evaluate(labels, [1.0, 2.0], qid=[1, 1])


def test_notebooks_show_what_is_printed():
    found = evaluate([1, 0], [2, 1], group_sizes=[2], metrics=["map", "ndcg@5"])
    html = found._repr_html_()
    assert "<caption>1 query</caption>" in html
    for cell in str(found).split("\n")[1].split("  "):
        assert cell.strip() in html


def test_a_metric_that_is_listed_twice_has_one_value():
    result = evaluate([1, 0, 1, 0], [1, 2, 4, 3], qid=[1, 1, 2, 2], metrics=["map", "map"])
    assert result["map"] == 0.75
    assert result.values("map").tolist() == [0.5, 1.0]
