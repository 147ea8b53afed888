"""Gains of training data, by the arithmetic that metrics use."""

from __future__ import annotations

import numpy as np

from rankgrove.boosting.objectives.base import Floats, TrainingData
from rankgrove.metrics import arithmetic
from rankgrove.metrics.arithmetic import Gain, discounts, gain_worth, over_ideal, worths

__all__ = ["Gain", "document_gains", "gains_over_ideal", "ideal_dcg", "label_gains"]


def document_gains(data: TrainingData, gain: Gain) -> Floats:
    """Return the gain of every document; DataError where a label has none."""
    return label_gains(data.y, gain)


def label_gains(labels: Floats, gain: Gain) -> Floats:
    """Return the gain of each label; DataError where one has none."""
    return worths(labels, gain_worth(gain))


def ideal_dcg(data: TrainingData, gains: Floats, k: int | None = None) -> Floats:
    """Return the largest DCG@k of every query (None: the whole list)."""
    longest = int(np.diff(data.offsets).max(initial=0))
    factors = discounts("log2", longest if k is None else min(k, longest))
    return arithmetic.ideal_dcg(data.offsets, gains, factors)


def gains_over_ideal(data: TrainingData, gains: Floats, k: int | None = None) -> Floats:
    """Divide gains by their query's ideal DCG; 0 in queries without a relevant document."""
    inverse = over_ideal(np.ones(data.n_queries), ideal_dcg(data, gains, k))
    result: Floats = gains * np.repeat(inverse, np.diff(data.offsets))
    return result
