"""Convergence: how a metric develops with the number of trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.dataset import Dataset
from rankgrove.metrics.metric import metric as as_metric


@dataclass(frozen=True)
class Convergence:
    """Values of a metric after growing numbers of steps (boosting iterations, or trees)."""

    steps: list[int]
    values: list[float]


def convergence(
    ranker: Any, data: Dataset, metric: Any = "ndcg@10", *, n_points: int = 60
) -> Convergence:
    """Measure a fitted tree ranker on data after part of its trees.

    Parameters
    ----------
    ranker : a fitted ranker with ``staged_predict`` or ``ensemble_``
    data : documents to rank
    metric : what to measure
    n_points : number of points of the curve at most, denser at its beginning
    """
    prepared = as_metric(metric).prepare(data.y, data.groups, n_jobs=ranker.n_jobs)
    ensemble = ranker.ensemble_
    steps = _spread(ensemble.n_trees // ensemble.n_outputs, n_points)
    return Convergence(steps, [prepared(scores) for scores in _staged(ranker, data.X, steps)])


def _spread(n_steps: int, n_points: int) -> list[int]:
    """Whole numbers from 1 to n_steps whose distances grow."""
    points = 1 + (n_steps - 1) * np.linspace(0, 1, n_points) ** 2
    return sorted({round(point) for point in points.tolist()}) if n_steps else []


def _staged(
    ranker: Any, X: npt.NDArray[np.float32], steps: list[int]
) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the scores after each of the given numbers of steps."""
    if hasattr(ranker, "staged_predict"):
        wanted = set(steps)
        for step, scores in enumerate(ranker.staged_predict(X), start=1):
            if step in wanted:
                yield scores
        return
    # Rankings by the sum and by the mean of the trees so far are the same.
    from rankgrove.trees.scorer import Scorer

    scores = np.zeros(len(X))
    for before, step in zip([0, *steps], steps, strict=False):
        trees = ranker.ensemble_.head(step).tail(before)
        scores = scores + Scorer(trees, fill=ranker.fill_).predict(X, n_jobs=ranker.n_jobs)
        yield scores
