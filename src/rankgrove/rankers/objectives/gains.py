"""What a document is worth by its label, and the best that a query allows.

The arithmetic is native and the same as the metrics'; here it meets the parameter ``gain``:
``"exp"`` is 2^label - 1, ``"linear"`` is the label itself, and a sequence of numbers is a table
whose entry l is the gain of label l. Real-valued labels work with the two formulas.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.errors import DataError
from rankgrove.rankers.objectives.base import Floats, TrainingData

Gain = str | Sequence[float] | npt.NDArray[np.float64]


def document_gains(data: TrainingData, gain: Gain) -> Floats:
    """Return the gain of every document; DataError where a label has none."""
    return label_gains(data.y, gain)


def label_gains(labels: Floats, gain: Gain) -> Floats:
    """Return the gain of each label; DataError where one has none."""
    if isinstance(gain, str):
        if gain not in ("exp", "linear"):
            raise ValueError(f"gain must be 'exp', 'linear' or a table of numbers, not {gain!r}")
        kind, table = gain, np.zeros(0)
    else:
        kind, table = "table", np.ascontiguousarray(gain, np.float64)
        if table.ndim != 1 or not len(table):
            raise ValueError(f"a table of gains needs one number per label, not {gain!r}")
    try:
        return _native.document_gains(labels, kind, table)
    except ValueError as error:
        raise DataError(f"gain={gain!r}: {error}") from None


def ideal_dcg(data: TrainingData, gains: Floats, cutoff: int | None = None) -> Floats:
    """Return the largest DCG@cutoff of every query (None: the whole list)."""
    return _native.ideal_dcg(data.offsets, gains, cutoff or max(1, data.n_documents))


def gains_over_ideal(data: TrainingData, gains: Floats, cutoff: int | None = None) -> Floats:
    """Divide gains by their query's ideal DCG; 0 in queries without a relevant document."""
    ideal = ideal_dcg(data, gains, cutoff)
    inverse = np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0)
    result: Floats = gains * np.repeat(inverse, np.diff(data.offsets))
    return result
