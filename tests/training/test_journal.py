"""Journals: records of steps that are written, read back and checked against the fit."""

from __future__ import annotations

import pytest

from rankgrove.errors import ModelError
from rankgrove.training.journal import Journal, StepRecord
from rankgrove.training.progress import FitProgress

KEY = {"seed": 7, "data": "abc"}


def record(step=1, key=KEY):
    return StepRecord(key, step, [], {"valid": {"ndcg": 0.5 + step}}).to_bytes()


def test_a_record_is_read_back():
    found = StepRecord.from_bytes(record(3))
    assert (found.key, found.step, found.measured) == (KEY, 3, {"valid": {"ndcg": 3.5}})


def test_a_damaged_record_is_refused():
    data = bytearray(record())
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(ModelError, match="cannot be read"):
        StepRecord.from_bytes(bytes(data[:-30]))


def test_seed_and_metrics_are_those_of_the_records():
    journal = Journal([record(1), record(2)])
    journal.open(KEY, list)
    assert journal.seed == 7
    assert journal.measured == [{"valid": {"ndcg": 1.5}}, {"valid": {"ndcg": 2.5}}]


def test_records_of_another_fit_are_refused_by_what_differs():
    with pytest.raises(ModelError, match="its data is 'abc', not 'other'"):
        Journal([record()]).open({**KEY, "data": "other"}, list)


def test_records_out_of_order_are_refused():
    with pytest.raises(ModelError, match="number 1 is of step 2"):
        Journal([record(2), record(1)]).open(KEY, list)


def test_each_new_step_is_passed_on_as_a_record():
    written = []
    journal = Journal(on_step=lambda *arguments: written.append(arguments))
    journal.open(KEY, list)
    (callback,) = journal.callbacks
    progress = FitProgress(None, 5, evals_result={"valid": {"ndcg": [0.1, 0.2]}})
    progress.iteration = 2
    callback(progress)
    ((step, data, measured),) = written
    assert (step, measured) == (2, {"valid": {"ndcg": 0.2}})
    assert StepRecord.from_bytes(data).key == KEY


def test_a_journal_without_records_has_no_seed():
    assert Journal().seed is None
    assert not Journal().used
