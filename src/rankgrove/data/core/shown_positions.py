"""Checks of where documents were shown, and of the probability that they were examined."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.numbers import row_numbers
from rankgrove.errors import DataError

_DEEPEST = 1_000_000


def shown_positions(values: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.int64]:
    """Return one position per row, a whole number from 1."""
    position = row_numbers(values, n_rows, "position")
    wrong = (position < 1) | (position > _DEEPEST) | (np.trunc(position) != position)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"position of row {row} is {position[row]:g}: positions are whole numbers from 1 "
            f"(the first) to {_DEEPEST}"
        )
    return position.astype(np.int64)


def propensities(values: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.float64]:
    """Return one probability of examination per row, above 0 and at most 1."""
    propensity = row_numbers(values, n_rows, "propensity")
    wrong = (propensity <= 0) | (propensity > 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"propensity of row {row} is {propensity[row]:g}: it must be above 0 and at most 1"
        )
    return propensity
