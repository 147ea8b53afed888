"""Search of a ranker's parameters by Optuna, on query-wise folds.

A trial is fitted on the training part of one fold after the other and judged by the first metric on
the validation parts; a trial that does worse than the median of the others after as many folds is
given up. Test parts play no part.

Fits are cells of a study's store. The sampler is seeded and sees the same values on each run, so a
search that was stopped is repeated from its beginning, every finished fit taken from the store, and
goes on from there with the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankgrove._optional import require
from rankgrove.experiments.cells import CellOutcome, run_cell
from rankgrove.experiments.sources import StudyFold
from rankgrove.experiments.specs import Spec
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import Cell, Study
from rankgrove.experiments.study_warnings import StudyWarnings
from rankgrove.rankers.base.declaration import RankerParameter, parameter_table
from rankgrove.rankers.base.parameters import Choice, Flag, Integer, Real, Span
from rankgrove.rankers.base.registry import ranker_class
from rankgrove.trees.bin_cache import bin_cache

Searched = Span | tuple[Any, ...]


@dataclass(frozen=True)
class Trial:
    """One setting that was evaluated.

    Attributes
    ----------
    values : the metric on the validation part of each fold that was fitted; NaN where no query
        counts
    pruned : whether it was given up before the last fold
    error : why it failed, "" if it did not
    """

    params: Mapping[str, Any]
    values: tuple[float, ...]
    pruned: bool
    error: str = ""

    @property
    def value(self) -> float:
        """Mean over the folds that count; NaN if none does, and for a failed trial."""
        return float("nan") if self.error else _mean(self.values)


@dataclass(frozen=True)
class Tuning:
    """The result of a search: the best complete trial, and all trials in order."""

    best: Trial
    trials: tuple[Trial, ...]
    spec: Spec


def search_space(use: str) -> dict[str, Searched]:
    """Return the search space that a ranker's parameter table declares; maybe empty."""
    space = {}
    for parameter in parameter_table(ranker_class(use)):
        searched = _searched(parameter)
        if searched is not None:
            space[parameter.name] = searched
    return space


def tune(
    study: Study,
    store: Store,
    *,
    n_trials: int = 50,
    n_jobs: int | None = None,
    on_trial: Callable[[int, Trial], None] | None = None,
) -> Tuning:
    """Search the parameters of the one ranker of a study.

    Parameters
    ----------
    study : its one spec's parameters stay as they are; of the others, those with a search are tried
    n_trials : settings to try
    on_trial : called with the number of each trial, from 1, and the trial
    """
    optuna = require("optuna", "tune", "a search of parameters")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if len(study.specs) != 1 or len(study.specs[0].settings) != 1 or study.specs[0].library:
        raise ValueError("tune takes one ranker of rankgrove, without a grid")
    spec = study.specs[0]
    (fixed,) = spec.settings
    space = {name: s for name, s in search_space(spec.use).items() if name not in fixed}
    if not space:
        raise ValueError(f"{spec.use} declares no parameter to search")
    if n_trials < 1:
        raise ValueError(f"n_trials must be at least 1, not {n_trials}")
    folds = [fold for source in study.sources for fold in source.folds()]
    warned = StudyWarnings()
    for fold in folds:
        warned.check(fold, study.metrics)
    store.begin(study.describe() | {"search": n_trials})
    greater = study.metrics[0].greater_is_better
    search = optuna.create_study(
        direction="maximize" if greater else "minimize",
        sampler=optuna.samplers.TPESampler(seed=study.seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )
    fit = _Fits(study, store, warned, n_jobs)
    trials: list[Trial] = []
    with bin_cache():
        for number in range(1, n_trials + 1):
            asked = search.ask()
            params = {**fixed, **{name: _suggest(asked, name, s) for name, s in space.items()}}
            trial = _run(asked, replace(spec, settings=(params,)), folds, fit)
            state = optuna.trial.TrialState
            if trial.error:
                search.tell(asked, state=state.FAIL)
            else:
                search.tell(asked, **_trial_result(trial, state))
            trials.append(trial)
            if on_trial is not None:
                on_trial(number, trial)
    whole = [trial for trial in trials if not trial.pruned and not trial.error]
    if not whole:
        raise ValueError(f"every trial failed: {trials[0].error}")
    whole = [trial for trial in whole if not np.isnan(trial.value)]
    if not whole:
        raise ValueError(
            f"no trial has a value of {study.metrics[0]}: no validation query of any fold counts"
        )
    best = max(whole, key=lambda trial: trial.value if greater else -trial.value)
    return Tuning(best, tuple(trials), replace(spec, settings=(best.params,)))


def _mean(values: Sequence[float]) -> float:
    """Return the mean of the values that are numbers, NaN without any."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _trial_result(trial: Trial, state: Any) -> dict[str, Any]:
    if trial.pruned:
        return {"state": state.PRUNED}
    return {"state": state.FAIL} if np.isnan(trial.value) else {"values": trial.value}


def _run(asked: Any, spec: Spec, folds: list[StudyFold], fit: _Fits) -> Trial:
    values: list[float] = []
    (params,) = spec.settings
    for number, fold in enumerate(folds):
        outcome = fit(fold, spec)
        if outcome.error:
            return Trial(params, tuple(values), False, outcome.error)
        values.append(outcome.validation)
        if not np.isnan(mean := _mean(values)):
            asked.report(mean, number)
        if number + 1 < len(folds) and asked.should_prune():
            return Trial(params, tuple(values), True)
    return Trial(params, tuple(values), False)


@dataclass(frozen=True)
class _Fits:
    """Returns results of cells from the store; computes and stores missing ones."""

    study: Study
    store: Store
    warned: StudyWarnings
    n_jobs: int | None

    def __call__(self, fold: StudyFold, spec: Spec) -> CellOutcome:
        (planned,) = list(replace(self.study, specs=[spec], repeats=1).cells(fold))
        cell = replace(planned, tested=False)
        outcome = self._outcome(cell, fold)
        self.warned.show(cell, outcome)
        return outcome

    def _outcome(self, cell: Cell, fold: StudyFold) -> CellOutcome:
        while True:
            known = self.store.outcome(cell.key)
            if known is not None:
                return known
            if self.store.claim(cell):
                return self._computed(cell, fold)
            time.sleep(0.2)  # another process is at it

    def _computed(self, cell: Cell, fold: StudyFold) -> CellOutcome:
        outcome = run_cell(cell, fold.parts, n_jobs=self.n_jobs)
        self.store.finish(cell.key, outcome)
        return outcome


def _searched(parameter: RankerParameter) -> Searched | None:
    if parameter.search is not True:
        return parameter.search or None
    allowed = parameter.constraint
    if isinstance(allowed, Flag):
        return (False, True)
    if isinstance(allowed, Choice):
        return allowed.names
    if isinstance(allowed, Integer | Real) and allowed.low is not None and allowed.high is not None:
        return Span(allowed.low, allowed.high)
    raise TypeError(f"{parameter.name}: search=True needs a constraint with two ends")


def _suggest(trial: Any, name: str, searched: Searched) -> Any:
    if isinstance(searched, tuple):
        return trial.suggest_categorical(name, list(searched))
    if isinstance(searched.low, int) and isinstance(searched.high, int):
        return trial.suggest_int(name, searched.low, searched.high, log=searched.log)
    return trial.suggest_float(name, searched.low, searched.high, log=searched.log)
