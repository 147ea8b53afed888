"""Weights of rankers in a blend, chosen on predictions for queries that none of them has seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.models.ranks import places

Floats = npt.NDArray[np.float64]

_ROUNDS = 30
_ROUNDING = 1e-13  # of the largest score: smaller spreads are those of equal scores


@dataclass(frozen=True)
class BlendWeights:
    """The choice.

    Attributes
    ----------
    weights : share of each ranker, at least 0; they add up to 1
    scales : what scores of each are divided by
    value : the metric of the blend on the queries that chose it
    single_values : the metric of each ranker alone there
    """

    weights: Floats
    scales: Floats
    value: float
    single_values: Floats


def blend_weights(
    scores: Floats, groups: QueryGroups, by: str, measure: Callable[[Floats], float], sign: int
) -> BlendWeights:
    """Choose weights by forward selection with replacement (Caruana et al. 2004).

    The blend starts as the best ranker. Each round adds the ranker that makes the mean of all that
    were added best; of all rounds the best is taken, the first of equals.

    Parameters
    ----------
    scores : in grouped order, shape (rankers, rows)
    groups : the queries of grouped rows
    by : ``"score"``: scores are divided by their standard deviation within queries; ``"rank"``
    measure : from scores to the metric
    sign : 1 if more of the metric is better, else -1
    """
    if by == "rank":
        comparable = np.stack([places(row, groups) for row in scores])
        scales = np.ones(len(scores))
    else:
        scales = np.array([_spread(row, groups) for row in scores])
        comparable = scores / np.where(scales > 0, scales, 1.0)[:, None]
    singles = np.array([measure(row) for row in comparable])
    order = sign * np.where(np.isnan(singles), -sign * np.inf, singles)
    counts = np.zeros(len(scores))
    counts[int(np.argmax(order))] = 1
    total = comparable[int(np.argmax(order))].copy()
    best, weights = float(order.max()), counts.copy()
    for n in range(2, _ROUNDS + 2 if len(scores) > 1 else 2):
        values = [sign * measure((total + row) / n) for row in comparable]
        chosen = int(np.argmax(values))
        counts[chosen] += 1
        total += comparable[chosen]
        if values[chosen] > best:
            best, weights = float(values[chosen]), counts.copy()
    return BlendWeights(weights / weights.sum(), scales, sign * best, singles)


def _spread(scores: Floats, groups: QueryGroups) -> float:
    """Return the standard deviation of scores within queries; 0 if it is rounding alone."""
    filled = np.flatnonzero(groups.sizes)
    if not len(filled):
        return 0.0
    sizes, first = groups.sizes[filled], groups.offsets[filled]
    means = np.add.reduceat(scores, first) / sizes
    spread = float(np.sqrt(np.mean((scores - np.repeat(means, sizes)) ** 2)))
    return spread if spread > _ROUNDING * float(np.abs(scores).max()) else 0.0
