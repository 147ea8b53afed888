"""Gains, discounts and ideal DCG, as metrics, objectives and forests compute them.

The *value* of a label (its gain, its relevance, or the probability that it satisfies the user),
the discount of a rank, and the largest DCG of a query. ``native/metrics/ranking.hpp`` computes
them; this file reads the parameters:

- gain: ``"exp"`` is 2^label - 1 (labels to 53), ``"linear"`` the label itself, and a sequence of
  numbers is a table whose entry l is the gain of label l. Labels may be fractions but in a table.
- relevance: 1 for labels of at least ``relevant_from`` (above x if it is written ``">x"``), else 0.
- satisfaction, for ERR: (2^label - 1) / 2^max_grade, or label / max_grade under the linear gain.

A label without a value is a DataError that names it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankgrove import _native

Floats = npt.NDArray[np.float64]
Offsets = npt.NDArray[np.int64]
Gain = str | Sequence[float] | Floats


def gain_value(gain: Gain) -> _native.LabelValue:
    """Return the mapping from labels to gains."""
    if isinstance(gain, str):
        if gain not in ("exp", "linear"):
            raise ValueError(f"gain must be 'exp', 'linear' or a table of numbers, not {gain!r}")
        return _native.LabelValue.gain(gain, [])
    table = np.asarray(gain, np.float64)
    if table.ndim != 1 or not len(table):
        raise ValueError(f"a table of gains needs one number per label, not {gain!r}")
    return _native.LabelValue.gain("table", table.tolist())


def relevance_value(relevant_from: float | str) -> _native.LabelValue:
    """Return the mapping from labels to binary relevance."""
    return _native.LabelValue.relevance(relevance_threshold(relevant_from))


def satisfaction_value(gain: Gain, max_grade: float) -> _native.LabelValue:
    """Return the mapping from labels to ERR's probability that a document satisfies the user."""
    if not isinstance(gain, str) or gain not in ("exp", "linear"):
        raise ValueError(f"gain of err must be 'exp' or 'linear', not {gain!r}")
    return _native.LabelValue.satisfaction(gain, max_grade)


def relevance_threshold(relevant_from: float | str) -> float:
    """Return the smallest relevant label under the parameter ``relevant_from``."""
    if isinstance(relevant_from, str):
        return math.nextafter(float(relevant_from[1:]), math.inf)
    return relevant_from


def label_values(labels: Floats, value_of: _native.LabelValue) -> Floats:
    """Apply a mapping (gain, relevance, satisfaction) to each label."""
    return value_of.of(np.ascontiguousarray(labels, np.float64))


def label_gains(labels: Floats, gain: Gain) -> Floats:
    """Return the gain of each label."""
    return label_values(labels, gain_value(gain))


def discounts(discount: str, n_ranks: int) -> Floats:
    """Return the discount of each of the first ranks; see the parameter ``discount`` of metrics."""
    kind, _, power = discount.partition(":")
    return _native.discount_table(kind, float(power or 1), n_ranks)


def ideal_dcg(offsets: Offsets, gains: Floats, factors: Floats | None = None) -> Floats:
    """Return the largest DCG of every query, gains in grouped order.

    ``factors`` are those of the ranks, beyond which nothing counts; None discounts all ranks by
    1 / log2(rank + 1).
    """
    if factors is None:
        factors = discounts("log2", int(np.diff(offsets).max(initial=0)))
    return _native.ideal_dcg(offsets, gains, np.ascontiguousarray(factors, np.float64))


def over_ideal(values: Floats, ideal: Floats) -> Floats:
    """Divide values of queries by their ideal DCG; 0 where that is 0."""
    return np.divide(values, ideal, out=np.zeros_like(values), where=ideal > 0)


def gains_over_ideal(offsets: Offsets, gains: Floats, k: int | None = None) -> Floats:
    """Divide gains by their query's ideal DCG@k (None: of the whole list); 0 where that is 0."""
    sizes = np.diff(offsets)
    longest = int(sizes.max(initial=0))
    factors = discounts("log2", longest if k is None else min(k, longest))
    inverse = over_ideal(np.ones(len(sizes)), ideal_dcg(offsets, gains, factors))
    result: Floats = gains * np.repeat(inverse, sizes)
    return result
