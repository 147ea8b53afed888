"""The array of a data set with categorical columns, which hold codes of its own dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankgrove.errors import DataError


class CodedArray(np.ndarray[Any, np.dtype[Any]]):
    """Features of which some are codes; numpy gives rows, columns and copies the same type.

    A model knows categories by value. Its own codes differ, and plain numbers are values to it.
    """

    __array_priority__ = 1.0  # numpy.vstack and others, too


def refuse_coded(X: Any) -> None:
    """Refuse the codes of a data set without its dictionaries: as values, they are wrong."""
    if isinstance(X, CodedArray):
        raise DataError(
            "X is the array of a Dataset with categorical columns, which holds its own codes of "
            "their categories: give the Dataset itself, or its matrix (data.matrix); "
            "numpy.asarray(X) takes the codes as numbers"
        )
