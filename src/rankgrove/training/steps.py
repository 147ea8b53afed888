"""The loop that all rankers share that learn in steps: boosting, boosted forests, linear ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.training.progress import Callback, FitProgress, Measured, progress_bar
from rankgrove.training.watch import Watch, WatchedSet
from rankgrove.workers.row_shard import RowShard


@dataclass(frozen=True)
class Outcome:
    """How the steps ended.

    Attributes
    ----------
    n_steps : steps that were done
    n_kept : steps that the model should keep: up to the best one, if one was watched
    best_step : the step with the best value of the deciding metric, None if none was watched
    interrupted : whether Ctrl-C ended them
    """

    n_steps: int
    n_kept: int
    best_step: int | None
    interrupted: bool


@dataclass(frozen=True)
class Steps:
    """What watches the steps of one fit.

    Attributes
    ----------
    ranker : the estimator, as callbacks see it
    n_planned : steps at most
    watch : the sets whose metrics are recorded
    callbacks : called after each step; a true answer ends the training. Of several workers, the
        first calls its own, and speaks for all
    shard : this worker's rows among those of all workers; None: one worker has all
    resumed : what was measured after each step of an earlier attempt, which are not done again
    """

    ranker: Any
    n_planned: int
    watch: Watch
    callbacks: Sequence[Callback] = ()
    shard: RowShard | None = None
    resumed: Sequence[Measured] = ()

    def follow(
        self,
        steps: Iterable[object],
        scores_of: Callable[[WatchedSet], npt.NDArray[np.float64]],
    ) -> Outcome:
        """Take one step after the other until they end, or somebody ends them.

        Parameters
        ----------
        steps : an iterator that takes a step each time it is asked
        scores_of : the scores of a watched set after the last step, in grouped order

        Raises
        ------
        KeyboardInterrupt : Ctrl-C before the first step was done; later the outcome tells it
        """
        running = self.start(scores_of)
        with running:
            for _ in () if running.ended else steps:
                if running.done():
                    break
        return running.outcome()

    def start(self, scores_of: Callable[[WatchedSet], npt.NDArray[np.float64]]) -> RunningSteps:
        """Return what a loop of somebody else (an optimiser's) tells of its steps."""
        return RunningSteps(self, scores_of)


class RunningSteps(AbstractContextManager["RunningSteps"]):
    """Steps under way: inside ``with``, ``done()`` tells of each; Ctrl-C leaves what is finished.

    Attributes
    ----------
    n_steps : steps that were done
    interrupted : whether Ctrl-C ended them
    ended : whether an earlier attempt, which these resume, had ended already
    """

    def __init__(
        self, steps: Steps, scores_of: Callable[[WatchedSet], npt.NDArray[np.float64]]
    ) -> None:
        self._steps = steps
        self._scores_of = scores_of
        self._progress = FitProgress(
            steps.ranker, steps.n_planned, evals_result=steps.watch.history
        )
        self._first = steps.shard is None or steps.shard.is_first_worker
        verbose = steps.ranker.verbose if self._first else 0
        self._bar = progress_bar(steps.ranker.ranker_name, verbose)
        self.interrupted = False
        self.ended = False
        for measured in steps.resumed:
            self.ended = steps.watch.note(measured)
        self._progress.iteration = len(steps.resumed)
        self._progress.best_iteration = steps.watch.best_step

    @property
    def n_steps(self) -> int:
        """Steps that were done."""
        return self._progress.iteration

    def __enter__(self) -> RunningSteps:
        self._draw = self._bar.__enter__()
        return self

    def done(self) -> bool:
        """Record a step; True if it should be the last one."""
        watch, progress = self._steps.watch, self._progress
        progress.iteration += 1
        stop = watch.record(self._scores_of)
        progress.best_iteration = watch.best_step
        callbacks = (self._draw, *self._steps.callbacks) if self._first else ()
        wishes = [callback(progress) for callback in callbacks]
        shard = self._steps.shard
        wish = any(wishes)
        return stop or (wish if shard is None else shard.any(wish))

    def __exit__(self, *error: Any) -> bool:
        shard = self._steps.shard
        alone = shard is None or shard.single_worker  # others do not know of the Ctrl-C of one
        self.interrupted = error[0] is KeyboardInterrupt and self.n_steps > 0 and alone
        if self.interrupted:
            error = (None, None, None)
        self._bar.__exit__(*error)
        return self.interrupted

    def outcome(self) -> Outcome:
        """Tell how the steps ended."""
        best = self._steps.watch.best_step
        return Outcome(self.n_steps, best or self.n_steps, best, self.interrupted)
