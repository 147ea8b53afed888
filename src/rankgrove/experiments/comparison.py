"""Rankers side by side: quality, training time and scoring time on the same data."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.dataset import Dataset
from rankgrove.experiments.convergence import Convergence, convergence
from rankgrove.metrics.evaluation import evaluate


@dataclass(frozen=True)
class Result:
    """What one contestant reached on the test data.

    Attributes
    ----------
    name : how the contestant is called
    metrics : mean of each metric over the test queries
    fit_seconds : wall-clock time of training, None if nothing was trained
    score_microseconds : time to score one document on one thread, None if nothing was trained
    n_steps : steps of the fit (boosting iterations, trees of a forest), None for others
    convergence : the first metric on the test data by number of steps
    """

    name: str
    metrics: dict[str, float]
    fit_seconds: float | None = None
    score_microseconds: float | None = None
    n_steps: int | None = None
    convergence: Convergence | None = None


def measure_ranker(
    name: str,
    ranker: Any,
    train: Dataset,
    valid: Dataset,
    test: Dataset,
    metrics: list[str],
    **fit_options: Any,
) -> Result:
    """Train a ranker and measure it on the test data.

    The first metric decides on ``valid``; early stopping is for rankers that learn in steps.
    """
    if not ranker.learns_in_steps:
        fit_options.pop("early_stopping_rounds", None)
    start = time.perf_counter()
    ranker.fit(train, eval_set=valid, eval_metric=metrics[0], **fit_options)
    fit_seconds = time.perf_counter() - start
    return Result(
        name=name,
        metrics=_measured(test, ranker.predict(test), metrics),
        fit_seconds=fit_seconds,
        score_microseconds=_microseconds(ranker, test.X),
        n_steps=ranker.model_.n_steps,
        convergence=convergence(ranker, test, metrics[0]),
    )


def measure_scores(
    name: str, scores: npt.NDArray[Any], test: Dataset, metrics: list[str]
) -> Result:
    """Measure a ranking that needs no training, such as a single feature."""
    return Result(name=name, metrics=_measured(test, scores, metrics))


def _measured(test: Dataset, scores: npt.NDArray[Any], metrics: list[str]) -> dict[str, float]:
    result = evaluate(test.y, scores, groups=test.groups, metrics=metrics)
    return dict(zip(metrics, result.means.tolist(), strict=True))


def _microseconds(ranker: Any, X: npt.NDArray[np.float32], at_least: float = 0.2) -> float:
    """Time per row of the best of several runs on one thread."""
    n_jobs = ranker.n_jobs
    ranker.set_params(n_jobs=1)
    best, spent = float("inf"), 0.0
    while spent < at_least:
        start = time.perf_counter()
        ranker.predict(X)
        seconds = time.perf_counter() - start
        best, spent = min(best, seconds), spent + seconds
    ranker.set_params(n_jobs=n_jobs)
    return 1e6 * best / len(X)
