"""The columns of a matrix, data frame or Dataset, and whether they are those of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._arrays import addressable
from rankgrove.errors import DataError


def is_dataset(value: Any) -> bool:
    """Tell whether the value is a Dataset, without importing the readers."""
    return all(hasattr(value, name) for name in ("X", "y", "groups", "feature_names"))


def feature_matrix(X: Any) -> tuple[npt.NDArray[Any], tuple[str, ...] | None]:
    """Return a two-dimensional floating-point matrix (no copy if it is one) and column names."""
    names: tuple[str, ...] | None = None
    if is_dataset(X):
        names = tuple(str(name) for name in X.feature_names)
        X = X.X
    elif hasattr(X, "toarray"):
        X = X.toarray()
    elif hasattr(X, "to_numpy") or hasattr(X, "__dataframe__"):
        names, X = _frame_matrix(X)
    matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise DataError(
            f"X must be a matrix with one row per document, not an array of shape {matrix.shape}"
        )
    if matrix.dtype not in (np.float32, np.float64):
        try:
            matrix = matrix.astype(np.float32)
        except (TypeError, ValueError) as error:
            _refuse_text_column(matrix, names)
            raise DataError(f"X must hold numbers: {error}") from error
    return addressable(matrix), names


def first_number(names: Sequence[str]) -> int | None:
    """Number of the first feature if names only number the features (f1, f2, ...), else None."""
    for first in (0, 1):
        if all(name == f"f{first + i}" for i, name in enumerate(names)):
            return first
    return None


def check_columns(
    n_features: int,
    names: Sequence[str] | None,
    expected: int,
    expected_names: Sequence[str] | None,
) -> None:
    """Refuse a matrix whose columns are not those of the training data.

    Names are compared if both sides have them, and both are real or both are mere numbers.
    """
    if names is not None and expected_names is not None:
        names, expected_names = tuple(names), tuple(expected_names)
        if names == expected_names:
            return
        numbered = first_number(names) is not None
        if numbered == (first_number(expected_names) is not None):
            if not numbered:
                _check_names(names, expected_names)
            if n_features == expected:
                column = next(i for i in range(expected) if names[i] != expected_names[i])
                raise DataError(
                    f"column {column} of X is {names[column]!r} but the model was trained with "
                    f"{expected_names[column]!r} there" + ("" if numbered else f": {_ALIGN}")
                )
    if n_features != expected:
        raise DataError(
            f"X has {n_features} features but the model was trained on {expected}: give it the "
            f"columns of the training data (text: load it with n_features={expected})"
        )


_ALIGN = (
    "take the columns model.feature_names_in_ of a frame (--features on the command line), or "
    "rankgrove.align_features(data, model.feature_names_in_) of a Dataset"
)


def _check_names(names: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Refuse columns that lack a feature of the model, or that the model does not know."""
    for wanted, given, words in (
        (expected, set(names), "X lacks the column {!r} that the model was trained with"),
        (names, set(expected), "X has the column {!r} that the model was not trained with"),
    ):
        absent = [name for name in wanted if name not in given]
        if absent:
            more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
            raise DataError(f"{words.format(absent[0])}{more}: {_ALIGN}")


def _frame_matrix(frame: Any) -> tuple[tuple[str, ...] | None, Any]:
    columns = getattr(frame, "column_names", None)
    if columns is None:
        columns = getattr(frame, "columns", None)
    names = tuple(str(name) for name in columns) if columns is not None else None
    if hasattr(frame, "dtypes") and hasattr(frame, "iloc"):  # pandas: nullable columns too
        try:
            return names, frame.to_numpy(dtype=np.float32, na_value=np.nan)
        except (TypeError, ValueError):
            return names, frame.to_numpy(dtype=object, na_value=np.nan)
    return names, frame.to_numpy() if hasattr(frame, "to_numpy") else np.asarray(frame)


def _refuse_text_column(matrix: npt.NDArray[Any], names: tuple[str, ...] | None) -> None:
    """Name the first column of a frame that does not hold numbers."""
    for name, column in zip(names or (), matrix.T, strict=False):
        value = next((value for value in column if not _is_number(value)), None)
        if value is not None:
            raise DataError(
                f"column {name!r} of X holds {value!r}, not numbers: give the features alone, or "
                "rankgrove.load(frame), which knows labels, queries and document ids"
            )


def _is_number(value: Any) -> bool:
    try:
        np.float32(value)
    except (TypeError, ValueError):
        return value is None
    return True
