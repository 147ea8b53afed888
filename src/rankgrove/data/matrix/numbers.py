"""Conversion of arrays of any type to real numbers; texts and objects are refused."""

from __future__ import annotations

import numbers
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataError

_REAL = "fiub"
# Follows the error about labels that are texts.
GRADES_HINT = (
    " (labels are grades, higher for better documents: write 0 for 'not relevant' and 1 for "
    "'relevant')"
)


def is_masked_array(values: Any) -> bool:
    """Return whether values are a masked array, without loading numpy's module of them."""
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def as_numbers(values: Any, what: str) -> npt.NDArray[Any]:
    """Return an array of floats, integers or booleans, without a copy if it is one.

    Masked entries, None and pandas' NA become NaN. Texts (also of digits), dates, complex numbers
    and other objects are refused: what they would become is a guess.
    """
    if is_masked_array(values):
        values = _unmasked(values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} must hold numbers: {error}") from None
    if array.dtype == object:
        array = _numbers_of_objects(array, what)
    if array.dtype.kind not in _REAL:
        complex_too = "Complex data not supported: " if array.dtype.kind == "c" else ""
        raise DataError(f"{complex_too}{what} must hold numbers, not {_kind_name(array.dtype)}")
    return array


def row_numbers(values: Any, n_rows: int, name: str) -> npt.NDArray[np.float64]:
    """Return one finite float64 number per row."""
    given = as_numbers(values, name)
    column = np.ascontiguousarray(given, dtype=np.float64)
    refuse_rounded(given.ravel(), column.ravel(), name)
    if column.ndim != 1:
        raise DataError(f"{name} must have one dimension, not shape {column.shape}")
    if len(column) != n_rows:
        raise DataError(f"{name} has {len(column)} entries but X has {n_rows} rows")
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        raise DataError(f"{name} of row {bad[0]} is {column[bad[0]]}, not a finite number")
    return column


def row_labels(values: Any, n_rows: int, name: str) -> npt.NDArray[np.float64]:
    """Return one finite label per row; the error about texts says what to write."""
    try:
        return row_numbers(values, n_rows, name)
    except DataError as error:
        hint = GRADES_HINT if _holds_texts(values) else ""
        raise DataError(f"{error}{hint}") from None


def _holds_texts(values: Any) -> bool:
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        return False
    if array.dtype == object:
        return any(isinstance(value, str) for value in array.flat)
    return array.dtype.kind in "UST"


def refuse_rounded(
    given: npt.NDArray[Any], column: npt.NDArray[np.float64], name: str, first_row: int = 0
) -> None:
    """Refuse whole numbers that float64 rounds: different ones would become the same."""
    if given.dtype.kind not in "iu" or np.abs(column).max(initial=0) < 2.0**53:
        return
    for row in np.flatnonzero(np.abs(column) >= 2.0**53):
        if int(given[row]) != int(column[row]):
            raise DataError(
                f"{name} of row {first_row + row} is {given[row]}, which float64 rounds to "
                f"{column[row]:.0f}: beyond 2^53 it does not tell whole numbers apart"
            )


def _is_number_type(kind: type) -> bool:
    return (
        issubclass(kind, numbers.Real | np.bool_ | Decimal)
        or kind is type(None)
        or kind.__name__ == "NAType"  # pandas' NA
    )


def _unmasked(values: Any) -> npt.NDArray[Any]:
    if not np.ma.is_masked(values):
        return np.asarray(values.data)
    if values.dtype.kind in "iub":
        values = values.astype(np.float64)
    return np.asarray(values.filled(np.nan))


def _numbers_of_objects(array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    foreign = {kind for kind in set(map(type, array.flat)) if not _is_number_type(kind)}
    if foreign:
        value = next(value for value in array.flat if type(value) in foreign)
        raise DataError(f"{what} holds {value!r:.60}, which is not a number")
    flat = [np.nan if type(value).__name__ == "NAType" else value for value in array.flat]
    try:
        return np.array(flat, np.float64).reshape(array.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{what} must hold numbers: {error}") from None


def _kind_name(dtype: np.dtype[Any]) -> str:
    names = {"U": "texts", "S": "texts", "T": "texts", "M": "dates", "m": "times"}
    return names.get(dtype.kind, f"{dtype} values")


def finite_ranges(
    values: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the lowest and the highest finite value of each column; inf and -inf without one."""
    if not len(values):
        low = np.full(values.shape[1], np.inf, np.float32)
        return low, -low
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    for j in np.flatnonzero(~(np.isfinite(low) & np.isfinite(high))):
        finite = values[np.isfinite(values[:, j]), j]
        low[j], high[j] = finite.min(initial=np.inf), finite.max(initial=-np.inf)
    return low.astype(np.float32), high.astype(np.float32)
