"""Checks of positions and examination propensities of shown documents."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.numbers import row_numbers
from rankgrove.errors import DataError

_DEEPEST = 1_000_000


def shown_positions(
    values: npt.ArrayLike, n_rows: int, column: str | None = None, first_row: int = 0
) -> npt.NDArray[np.int64]:
    """Return one position per row, a whole number from 1.

    Errors name the column of a table, and the row by its number there.
    """
    position = row_numbers(values, n_rows, "position")
    wrong = (position < 1) | (position > _DEEPEST) | (np.trunc(position) != position)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"position{_named(column)} of row {first_row + row} is {position[row]:g}: positions "
            f"are whole numbers from 1 (the first) to {_DEEPEST}"
        )
    return position.astype(np.int64)


def propensities(
    values: npt.ArrayLike, n_rows: int, column: str | None = None, first_row: int = 0
) -> npt.NDArray[np.float64]:
    """Return one probability of examination per row, above 0 and at most 1."""
    propensity = row_numbers(values, n_rows, "propensity")
    wrong = (propensity <= 0) | (propensity > 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"propensity{_named(column)} of row {first_row + row} is {propensity[row]:g}: it must "
            "be above 0 and at most 1"
        )
    return propensity


def _named(column: str | None) -> str:
    return "" if column is None else f" (column {column!r})"
