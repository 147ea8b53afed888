"""The loop over the steps of a fit: its end, the steps that are kept, Ctrl-C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankgrove
from rankgrove.training.fit_evaluation import EvalSet, FitEvaluation
from rankgrove.training.step_loop import StepLoop

UNUSED: Any = None


def loop(n_planned=3, patience=None, callbacks=(), resumed=()):
    sets = [EvalSet("valid", UNUSED, False, {"mean": np.mean})]
    evaluation = FitEvaluation(sets, True, patience)
    return StepLoop(rankgrove.LambdaMART(), n_planned, evaluation, callbacks, resumed=resumed)


def scores(value):
    return {"valid": np.array([value])}


def test_loop_is_finished_after_the_planned_steps():
    with loop(2) as steps:
        assert not steps.step_done(scores(0.1))
        assert not steps.finished
        steps.step_done(scores(0.2))
        assert steps.finished


def test_early_stopping_keeps_the_best_step():
    with loop(10, patience=1) as steps:
        assert [steps.step_done(scores(value)) for value in (0.3, 0.2)] == [False, True]
    assert (steps.finished, steps.n_steps, steps.n_kept) == (True, 2, 1)


def test_a_callback_ends_the_loop_and_all_are_called():
    calls = []
    callbacks = [lambda progress: True, lambda progress: calls.append(progress.iteration)]
    with loop(callbacks=callbacks) as steps:
        assert steps.step_done(scores(0.1))
    assert calls == [1]
    assert steps.finished


def test_resumed_steps_are_counted_and_not_repeated():
    steps = loop(3, resumed=[{"valid": {"mean": 0.5}}, {"valid": {"mean": 0.4}}])
    assert (steps.n_steps, steps.n_kept, steps.finished) == (2, 1, False)


def test_ctrl_c_after_a_step_ends_the_loop_quietly():
    with loop() as steps:
        steps.step_done(scores(0.1))
        raise KeyboardInterrupt
    assert steps.interrupted


def test_ctrl_c_before_the_first_step_is_raised():
    with pytest.raises(KeyboardInterrupt), loop():
        raise KeyboardInterrupt
