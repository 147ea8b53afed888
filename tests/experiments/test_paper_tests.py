"""The t test and Wilcoxon's test side by side, with the marks of papers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import rankgrove
from rankgrove.experiments.paper_tests import paper_mark, paper_tests
from rankgrove.experiments.tables import MoreTables, as_markdown, text_tables

RANKERS = {"good": "mart:n_estimators=20", "bad": "random", "middling": "single-feature"}


@pytest.fixture(scope="module")
def compared(tiny_data):
    return rankgrove.compare(
        tiny_data, RANKERS, folds=3, metrics=["ndcg@5", "rmse"], baseline="middling"
    )


def test_p_values_are_those_of_scipy(compared):
    base = compared.per_query("data", "middling", "ndcg@5")
    for test in paper_tests(compared, "data", "ndcg@5"):
        ours = compared.per_query("data", test.ranker, "ndcg@5")
        assert test.difference == pytest.approx((ours - base).mean())
        one_sided = stats.ttest_rel(ours, base, alternative="greater").pvalue
        assert test.t_better == pytest.approx(one_sided)
        assert test.t == pytest.approx(stats.ttest_rel(ours, base).pvalue)
        assert test.wilcoxon == pytest.approx(stats.wilcoxon(ours - base).pvalue)
        better = stats.wilcoxon(ours - base, alternative="greater").pvalue
        assert test.wilcoxon_better == pytest.approx(better)


def test_no_p_value_is_written_as_0(tiny_data, monkeypatch):
    found = rankgrove.compare(
        tiny_data, ["single-feature", "random"], folds=3, metrics="ndcg@5", baseline="random"
    )
    tests = [replace(test, t=3e-7) for test in paper_tests(found, "data", "ndcg@5")]
    monkeypatch.setattr("rankgrove.experiments.tables.paper_tests", lambda *_: tests)
    (table,) = [t for t in text_tables(found, MoreTables(tests=True)) if "of papers" in t.title]
    assert [row[table.columns.index("t: p")] for row in table.rows] == ["< 0.0001"]


def test_a_lower_error_is_better(compared):
    for test in paper_tests(compared, "data", "rmse", fold=2):
        assert (test.difference < 0) == (test.t_better < 0.5)


@pytest.mark.parametrize(
    ("gains", "mark"),
    [
        (np.zeros(20), "="),
        (np.linspace(0.1, 0.3, 20), "*+"),
        (-np.linspace(0.1, 0.3, 20), "-*+"),
        (np.r_[np.full(19, 0.01), -5.0] + np.linspace(0, 1e-4, 20), "-*"),
        (np.r_[0.01, -0.01] * np.linspace(1, 1.1, 2), "="),
    ],
)
def test_marks(gains, mark):
    assert paper_mark(gains) == mark


@pytest.mark.slow
def test_the_tables_hold_every_metric_and_fold(compared):
    titles = [t.title for t in text_tables(compared, MoreTables(folds=True, tests=True))]
    tested = [title for title in titles if title.endswith("tests of papers")]
    assert len(tested) == 2 * (1 + 3)
    assert "one-sided" in as_markdown(compared, MoreTables(tests=True))
    rows = compared.frame("test")
    assert set(rows["fold"]) == {"all", "1", "2", "3"}
    assert len(rows) == 2 * 4 * 2


def test_there_is_nothing_to_test_without_a_baseline(tiny_data):
    found = rankgrove.compare(tiny_data, RANKERS, folds=3, metrics="ndcg@5")
    assert paper_tests(found, "data", "ndcg@5") == []


def test_every_setting_of_a_grid_is_listed(tiny_data):
    found = rankgrove.compare(
        tiny_data, "mart:n_estimators=2|4,max_leaf_nodes=4", folds=3, metrics="ndcg"
    )
    (table,) = [t for t in text_tables(found, MoreTables(settings=True)) if "settings" in t.title]
    assert [row[0] for row in table.rows] == ["n_estimators=2", "n_estimators=4"]
    frame = found.frame("setting")
    for params, value in zip(frame["params"], frame["ndcg"], strict=True):
        alone = rankgrove.compare(tiny_data, rankgrove.MART(**params), folds=3, metrics="ndcg")
        assert value == pytest.approx(alone.frame("fold")["ndcg"].mean())
