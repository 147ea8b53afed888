"""The watched sets of a fit: history, the deciding set, early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankgrove.errors import ModelError
from rankgrove.training.watch import Watch, WatchedSet

UNUSED: Any = None


def watched(name, is_train=False):
    return WatchedSet(name, UNUSED, is_train, {"mean": np.mean}, held_out=not is_train)


def values(watch, numbers, name="valid"):
    return [watch.note({name: {"mean": number}}) for number in numbers]


def test_training_stops_after_patience_steps_without_improvement():
    watch = Watch([watched("valid")], True, 2)
    assert values(watch, [0.1, 0.5, 0.4, 0.5]) == [False, False, False, True]
    assert watch.best_step == 2


def test_lower_is_better_where_the_metric_is_an_error():
    watch = Watch([watched("valid")], False, None)
    values(watch, [3.0, 1.0, 2.0])
    assert watch.best_step == 2


def test_a_first_value_that_is_not_a_number_is_replaced():
    watch = Watch([watched("valid")], True, None)
    values(watch, [float("nan"), 0.2])
    assert watch.best_step == 2


def test_training_data_never_decide():
    watch = Watch([watched("train", is_train=True)], True, 1)
    assert values(watch, [0.5, 0.4, 0.3], "train") == [False, False, False]
    assert watch.best_step is None


def test_the_last_held_out_set_decides():
    watch = Watch([watched("one"), watched("two"), watched("train", is_train=True)], True, None)
    for one, two, train in [(1.0, 0.1, 0.0), (0.0, 0.2, 1.0), (0.5, 0.1, 2.0)]:
        watch.note({"one": {"mean": one}, "two": {"mean": two}, "train": {"mean": train}})
    assert watch.best_step == 2


def test_record_evaluates_the_scores_of_each_set():
    watch = Watch([watched("valid")], True, None)
    watch.record({"valid": np.array([1.0, 3.0])})
    watch.record({"valid": np.array([4.0, 4.0])})
    assert watch.history == {"valid": {"mean": [2.0, 4.0]}}


def test_metrics_of_other_sets_are_refused():
    with pytest.raises(ModelError, match="other sets"):
        Watch([watched("valid")], True, None).note({"test": {"mean": 0.0}})
