"""Coordinate ascent: maximise a metric by one weight at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.linear.line import LineMetric
from rankgrove.models.linear_features import LinearFeatures

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CoordinateSearch:
    """Climbs from some weights, feature by feature, to a local maximum of a metric.

    Attributes
    ----------
    features : of the training data
    metric : what is raised
    spreads : of each feature within queries: weights are in units of ``1 / spread``
    n_steps, first_step, growth : a weight is moved by ``first_step * (1 + growth + growth^2 ...)``
        times its size, for sums of 1 to ``n_steps`` terms, in both directions
    """

    features: LinearFeatures
    metric: LineMetric
    spreads: Floats
    n_steps: int
    first_step: float
    growth: float

    def passes(
        self, weights: Floats, rng: np.random.Generator, tolerance: float
    ) -> Iterator[tuple[Floats, float]]:
        """Yield weights and their metric after each pass, until a pass gains no more."""
        usable = np.flatnonzero(self.spreads > 0)
        unit = np.divide(1.0, self.spreads, out=np.zeros_like(weights), where=self.spreads > 0)
        weights = weights.copy()
        scores, value = self._measured(weights * unit)
        while True:
            before = value
            for feature in rng.permutation(usable):
                column = self.features.column(feature) * unit[feature]
                steps = self._steps(weights[feature])
                values = self.metric.values(scores, column, steps)
                best = int(values.argmax())
                if values[best] > value:
                    weights[feature] += steps[best]
                    scores = scores + steps[best] * column
                    value = float(values[best])
            size = np.abs(weights).sum()
            if size > 0:  # only the direction matters: keep the steps in proportion
                weights = weights / size
            # Scores that were updated step by step round, and tie, differently from the model's.
            scores, value = self._measured(weights * unit)
            yield weights * unit, value
            if value - before <= tolerance:
                return

    def _measured(self, weights: Floats) -> tuple[Floats, float]:
        """Return the model's scores with these weights, and the metric of the scores."""
        scores = self.features.scores(weights)
        return scores, float(self.metric.values(scores, scores, np.zeros(1))[0])

    def _steps(self, weight: float) -> Floats:
        """Return candidate steps of a weight in ascending order, including the one to weight 0."""
        size = max(abs(weight), 1.0 / max(1, int(np.count_nonzero(self.spreads))))
        sums = np.cumsum(self.growth ** np.arange(self.n_steps))
        moves = self.first_step * size * sums
        return np.unique(np.r_[-moves, -weight, moves])
