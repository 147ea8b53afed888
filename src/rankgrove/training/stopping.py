"""Rules that choose the step at which a model is cut, from its validation metric step by step.

A validation metric is a mean over queries, and with few of them a noisy one: the step at which a
noisy curve is highest is later, and no better, than many steps before it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class StoppingRule(ABC):
    """Chooses the best of the recorded steps.

    Life: ``note`` is called after each step, in order; ``best_step`` is then the choice so far, and
    ``last_progress`` the step from which the patience of early stopping counts.

    Parameters
    ----------
    greater_is_better : whether a higher value of the metric is better

    Attributes
    ----------
    needs_queries : whether ``note`` needs the metric of each query
    values : the metric after each step
    best_step : number of steps that the model should keep; None before the first one
    last_progress : the last step that brought the metric forward
    """

    needs_queries: bool = False

    def __init__(self, greater_is_better: bool) -> None:
        self.greater_is_better = greater_is_better
        self.values: list[float] = []
        self.best_step: int | None = None
        self.last_progress = 0

    @property
    def best_value(self) -> float | None:
        """The metric after the chosen step."""
        return None if self.best_step is None else self.values[self.best_step - 1]

    def note(self, value: float, by_query: Floats | None = None) -> None:
        """Take the metric after the next step, and its values per query (NaN: it has none)."""
        self.values.append(value)
        if by_query is not None and not self.greater_is_better:
            by_query = -by_query
        self._choose(value if self.greater_is_better else -value, by_query)

    @abstractmethod
    def _choose(self, value: float, by_query: Floats | None) -> None:
        """Choose a step; values are such that greater ones are better."""


class BestStep(StoppingRule):
    """The step with the best metric, the first of equal ones."""

    def __init__(self, greater_is_better: bool) -> None:
        super().__init__(greater_is_better)
        self._best = np.nan

    def _choose(self, value: float, by_query: Floats | None) -> None:
        if self.best_step is None or np.isnan(self._best) or value > self._best:
            self._best = value
            self.best_step = self.last_progress = len(self.values)


class MovingAverage(StoppingRule):
    """The step with the best mean over the 11 steps around it (fewer at the ends of the curve).

    Of equal means the first counts. Steps without a finite value are neither chosen nor averaged.
    """

    half = 5

    def __init__(self, greater_is_better: bool) -> None:
        super().__init__(greater_is_better)
        self._known: list[float] = []  # such that greater ones are better
        self._means: list[float] = []  # less the first finite value

    def _choose(self, value: float, by_query: Floats | None) -> None:
        self._known.append(value)
        self._means.append(np.nan)
        n = len(self._known)
        for step in range(max(n - 1 - self.half, 0), n):  # those whose means have the newest value
            self._means[step] = self._mean_around(step)
        means = np.array(self._means)
        best = n if np.isnan(means).all() else int(np.nanargmax(means)) + 1
        if best != self.best_step:
            self.best_step = self.last_progress = best

    def _mean_around(self, step: int) -> float:
        """Return the mean around a step less the first finite value, so that equal values give 0.

        The sum does not depend on the order of the values.
        """
        if not np.isfinite(self._known[step]):
            return np.nan
        first = next(value for value in self._known if np.isfinite(value))
        around = self._known[max(step - self.half, 0) : step + self.half + 1]
        differences = [value - first for value in around if np.isfinite(value)]
        return math.fsum(differences) / len(differences)


class OneStandardError(StoppingRule):
    """The first step that is not worse than the best one by more than a standard error.

    The standard error is that of the mean, over queries, of the difference between the two steps.
    """

    needs_queries = True

    def __init__(self, greater_is_better: bool) -> None:
        super().__init__(greater_is_better)
        self._by_query: list[npt.NDArray[np.float32]] = []
        self._best = np.nan

    def _choose(self, value: float, by_query: Floats | None) -> None:
        assert by_query is not None
        newest = by_query.astype(np.float32)
        self._by_query.append(newest)
        if self.best_step is not None and not np.isnan(self._best) and not value > self._best:
            return
        self._best = value
        self.last_progress = len(self.values)
        self.best_step = len(self.values)
        for step, earlier in enumerate(self._by_query[:-1], 1):
            differences = newest - earlier
            mean, error = mean_and_error(differences)
            if not mean > error and not np.isnan(differences).all():
                self.best_step = step
                return


class PairedTest(StoppingRule):
    """The last step that was better than the one chosen before it by more than a standard error.

    The standard error is that of the mean, over queries, of the difference between the two steps.
    """

    needs_queries = True

    def __init__(self, greater_is_better: bool) -> None:
        super().__init__(greater_is_better)
        self._chosen: Floats | None = None

    def _choose(self, value: float, by_query: Floats | None) -> None:
        assert by_query is not None
        if self._chosen is not None and not np.isnan(self._chosen).all():
            mean, error = mean_and_error(by_query - self._chosen)
            if not mean > error:
                return
        self._chosen = by_query
        self.best_step = self.last_progress = len(self.values)


STOPPING_RULES: dict[str, type[StoppingRule]] = {
    "best": BestStep,
    "moving-average": MovingAverage,
    "one-standard-error": OneStandardError,
    "paired-test": PairedTest,
}


def mean_and_error(differences: Floats | npt.NDArray[np.float32]) -> tuple[float, float]:
    """Return the mean of differences per query and its standard error; NaN do not count."""
    counted = differences[~np.isnan(differences)].astype(np.float64)
    if len(counted) < 2:
        return float(counted.sum()), 0.0
    return float(counted.mean()), float(counted.std(ddof=1) / np.sqrt(len(counted)))


def stopping_rule(name: str, greater_is_better: bool) -> StoppingRule:
    """Return the rule of a name; an unknown one is refused."""
    if name not in STOPPING_RULES:
        raise ValueError(f"stopping_rule must be one of {', '.join(STOPPING_RULES)}, not {name!r}")
    return STOPPING_RULES[name](greater_is_better)
