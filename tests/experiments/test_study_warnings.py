"""What studies warn of: each thing once per data set."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rankgrove
from rankgrove.data.reading.folds import Fold
from rankgrove.experiments.study import make_study
from rankgrove.experiments.study_warnings import StudyWarnings


def told(data, rankers, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rankgrove.compare({"mine": data}, rankers, metrics="ndcg", **options)
    return [str(w.message) for w in caught if w.category is rankgrove.DataWarning]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_many_grades_are_told_once_also_by_stored_fits(tiny_data, jobs, tmp_path):
    grades = np.random.default_rng(0).integers(0, 41, tiny_data.n_rows) / 8
    data = rankgrove.Dataset(tiny_data.X, grades, tiny_data.qid)
    for _ in range(2):
        found = told(data, ["mcrank:n_estimators=1"], folds=3, workers=jobs, out=tmp_path)
        assert len(found) == 1
        assert "mcrank: McRank learns one class per label" in found[0]
        assert found[0].startswith("mine, fold ")


def test_equal_labels_are_told_once_by_metric_and_fit(tiny_data):
    data = rankgrove.Dataset(tiny_data.X, np.zeros(tiny_data.n_rows), tiny_data.qid)
    metric, fit = told(data, ["mart:n_estimators=1", "lambdamart:n_estimators=1"])
    assert metric.startswith("mine, fold 1: ndcg: every label is 0")
    assert fit.startswith("mine, fold 1, mart: every label is 0: there is no order")


def test_shared_queries_are_told_once_for_validation_and_test(tiny_data):
    folds = [Fold(tiny_data, tiny_data, tiny_data)] * 2
    valid, test = told(folds, ["mart:n_estimators=1", "plrank:n_estimators=1"])
    assert "eval_set 'valid' shares 36 of its 36 queries" in valid
    assert "the test part shares 36 of its 36 queries" in test


def test_document_ids_are_read_for_metrics_that_rank_by_them_only(tiny_data, monkeypatch):
    read = []
    monkeypatch.setattr(rankgrove.Dataset, "doc_ids", property(lambda data: read.append(data)))
    study = make_study(tiny_data, ["mart"], folds=3, metrics=["ndcg@5"])
    fold = next(iter(study.sources[0].folds()))
    StudyWarnings().check(fold, study.metrics)
    assert not read
    StudyWarnings().check(fold, [rankgrove.metric("ndcg@5(ties=doc_id)")])
    assert read
