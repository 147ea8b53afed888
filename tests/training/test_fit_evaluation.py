"""The evaluation sets of a fit: history, the deciding set, early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankgrove.errors import ModelError
from rankgrove.training.fit_evaluation import EvalSet, FitEvaluation

UNUSED: Any = None


def eval_set(name, is_train=False):
    return EvalSet(name, UNUSED, is_train, {"mean": np.mean}, held_out=not is_train)


def values(evaluation, numbers, name="valid"):
    return [evaluation.note({name: {"mean": number}}) for number in numbers]


def test_training_stops_after_patience_steps_without_improvement():
    evaluation = FitEvaluation([eval_set("valid")], True, 2)
    assert values(evaluation, [0.1, 0.5, 0.4, 0.5]) == [False, False, False, True]
    assert evaluation.best_step == 2


def test_lower_is_better_where_the_metric_is_an_error():
    evaluation = FitEvaluation([eval_set("valid")], False, None)
    values(evaluation, [3.0, 1.0, 2.0])
    assert evaluation.best_step == 2


def test_a_first_value_that_is_not_a_number_is_replaced():
    evaluation = FitEvaluation([eval_set("valid")], True, None)
    values(evaluation, [float("nan"), 0.2])
    assert evaluation.best_step == 2


def test_training_data_never_decide():
    evaluation = FitEvaluation([eval_set("train", is_train=True)], True, 1)
    assert values(evaluation, [0.5, 0.4, 0.3], "train") == [False, False, False]
    assert evaluation.best_step is None


def test_the_last_held_out_set_decides():
    evaluation = FitEvaluation(
        [eval_set("one"), eval_set("two"), eval_set("train", is_train=True)], True, None
    )
    for one, two, train in [(1.0, 0.1, 0.0), (0.0, 0.2, 1.0), (0.5, 0.1, 2.0)]:
        evaluation.note({"one": {"mean": one}, "two": {"mean": two}, "train": {"mean": train}})
    assert evaluation.best_step == 2


def test_record_evaluates_the_scores_of_each_set():
    evaluation = FitEvaluation([eval_set("valid")], True, None)
    evaluation.record({"valid": np.array([1.0, 3.0])})
    evaluation.record({"valid": np.array([4.0, 4.0])})
    assert evaluation.history == {"valid": {"mean": [2.0, 4.0]}}


def test_metrics_of_other_sets_are_refused():
    with pytest.raises(ModelError, match="other evaluation sets"):
        FitEvaluation([eval_set("valid")], True, None).note({"test": {"mean": 0.0}})
