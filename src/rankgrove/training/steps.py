"""The loop that all rankers share that learn in steps: boosting, boosted forests, linear ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.training.progress import Callback, FitProgress, progress_bar
from rankgrove.training.watch import Watch, WatchedSet


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
    callbacks : called after each step; a true answer ends the training
    """

    ranker: Any
    n_planned: int
    watch: Watch
    callbacks: Sequence[Callback] = ()

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
        watch = self.watch
        progress = FitProgress(self.ranker, self.n_planned, evals_result=watch.history)
        interrupted = False
        with progress_bar(self.ranker.ranker_name, self.ranker.verbose) as draw:
            try:
                for _ in steps:
                    progress.iteration += 1
                    stop = watch.record(scores_of)
                    progress.best_iteration = watch.best_step
                    wishes = [callback(progress) for callback in (draw, *self.callbacks)]
                    if stop or any(wishes):
                        break
            except KeyboardInterrupt:
                if not progress.iteration:
                    raise
                interrupted = True
        done = progress.iteration
        return Outcome(done, watch.best_step or done, watch.best_step, interrupted)
