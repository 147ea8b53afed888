"""The loop over the steps of a fit, for every ranker that learns in steps.

A fit takes its steps inside ``with loop`` and reports each one::

    loop = fit.step_loop(self, n_steps)
    with loop:
        while not loop.finished:
            ...  # one step
            loop.step_done({name: scores, ...})
    model = ...  # of the first loop.n_kept steps
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.training.fit_evaluation import FitEvaluation
from rankgrove.training.progress import Callback, FitProgress, Measured, progress_bar
from rankgrove.workers.row_shard import RowShard


class StepLoop(AbstractContextManager["StepLoop"]):
    """Records metrics, calls callbacks, draws the progress bar and ends the steps of one fit.

    Ctrl-C after the first step leaves the ``with`` block quietly and sets ``interrupted``; before,
    KeyboardInterrupt goes on.

    Parameters
    ----------
    ranker : the estimator, as callbacks see it
    n_planned : maximal number of steps
    evaluation : the sets whose metrics are recorded
    callbacks : called after each step; a true result ends the training. Of several workers, only
        the first calls its own, and decides for all
    shard : the rows of this worker; None: there is one worker
    resumed : metrics after each step of an earlier attempt; these steps are not repeated
    by_query : the deciding metric of each query after these steps, for rules that need it

    Attributes
    ----------
    interrupted : whether Ctrl-C ended the steps
    """

    def __init__(
        self,
        ranker: Any,
        n_planned: int,
        evaluation: FitEvaluation,
        callbacks: Sequence[Callback] = (),
        shard: RowShard | None = None,
        resumed: Sequence[Measured] = (),
        by_query: Sequence[npt.NDArray[np.float64] | None] = (),
    ) -> None:
        self._evaluation = evaluation
        self._shard = shard
        self._is_first_worker = shard is None or shard.is_first_worker
        self._callbacks = callbacks
        self._progress = FitProgress(ranker, n_planned, evals_result=evaluation.history)
        self._bar = progress_bar(ranker.ranker_name, ranker.verbose if self._is_first_worker else 0)
        self.interrupted = False
        self._stopped = False
        for measured, values in zip_longest(resumed, by_query):
            self._stopped = evaluation.note(measured, values)
        self._progress.iteration = len(resumed)
        self._progress.best_iteration = evaluation.best_step

    @property
    def n_steps(self) -> int:
        """Number of steps that were taken."""
        return self._progress.iteration

    @property
    def finished(self) -> bool:
        """Whether no further step should be taken."""
        return self._stopped or self.n_steps >= self._progress.n_estimators

    @property
    def n_kept(self) -> int:
        """Number of steps that the model keeps: up to the best one, if a set was held out."""
        return self._evaluation.best_step or self.n_steps

    def __enter__(self) -> StepLoop:
        self._draw = self._bar.__enter__()
        return self

    def step_done(self, scores: Mapping[str, npt.NDArray[np.float64]]) -> bool:
        """Record a step; True if early stopping or a callback ends the training.

        Parameters
        ----------
        scores : by the name of each evaluation set, its scores after the step in grouped order
        """
        progress = self._progress
        progress.iteration += 1
        stop = self._evaluation.record(scores)
        progress.best_iteration = self._evaluation.best_step
        callbacks = (self._draw, *self._callbacks) if self._is_first_worker else ()
        answers = [callback(progress) for callback in callbacks]  # all are called
        wish = any(answers)
        self._stopped = stop or (wish if self._shard is None else self._shard.any(wish))
        return self._stopped

    def __exit__(self, *error: Any) -> bool:
        alone = (
            self._shard is None or self._shard.single_worker
        )  # other workers do not see this Ctrl-C
        self.interrupted = error[0] is KeyboardInterrupt and self.n_steps > 0 and alone
        if self.interrupted:
            error = (None, None, None)
        self._bar.__exit__(*error)
        return self.interrupted
