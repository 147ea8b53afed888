"""The columns that a model was trained with, and how other data are brought to them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.conversion import (
    column_names,
    feature_matrix,
    first_number,
    is_dataset,
    select_columns,
)
from rankgrove.data.matrix.zero_copy import features_in_place
from rankgrove.errors import DataError, DataWarning


@dataclass(frozen=True)
class Columns:
    """Names (None if nobody gave any) and number of the columns of a feature matrix.

    Names that only number the columns in order (``f1, f2, ...`` of text, ``0, 1, ...`` of a frame)
    are compared with names of the same kind, and wherever one name is on both sides; against other
    names they say no more than the count.
    ``double`` says that the model tells apart what float32 does not: frames give float64 values.
    """

    names: tuple[str, ...] | None
    count: int
    double: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.names is not None:
            if len(self.names) != self.count:
                raise DataError(f"{len(self.names)} feature names for {self.count} features")
            _refuse_duplicates(self.names, "the columns")

    @classmethod
    def of(cls, X: Any) -> Columns:
        """Columns of a matrix, data frame, Dataset, model or fitted ranker (or Columns)."""
        if isinstance(X, Columns):
            return X
        model = getattr(X, "model_", X)
        if isinstance(getattr(model, "columns", None), Columns):
            return cast(Columns, model.columns)
        names = column_names(X)
        shape = np.shape(X.X if is_dataset(X) else X)
        return cls(names, len(names) if names is not None else int(shape[1]))

    def match(
        self, X: Any, what: str = "X", owner: str = "the model", *, in_place: bool = False
    ) -> Any:
        """Return the matrix of X (an array, or SparseMatrix) with these columns in this order.

        Errors call X ``what``, and who has these columns ``owner``.

        If names are known on both sides, columns are taken by name: the order of X does not matter
        and columns that are not wanted are left out (they may hold anything). Otherwise the number
        of columns must agree. Nothing is copied if the columns are in place already, or if they are
        to be taken ``in_place`` (see ``features_in_place``).
        """
        if isinstance(X, (str, os.PathLike)):
            raise DataError(f"{what} must be in memory here: rankgrove.load({str(X)!r}) reads it")
        names = column_names(X)
        places = None if names is None else self.places(names, what)
        if places is None and names is not None:
            self._warn_of_counting(names, what, owner)
        if in_place:
            matrix = features_in_place(X, places)
        else:
            chosen = X if places is None else select_columns(X, places)
            matrix, _ = feature_matrix(chosen, double=self.double)
        if matrix.shape[1] != self.count:
            raise DataError(
                f"{what} has {matrix.shape[1]} features, but {owner} is expecting {self.count} "
                "features as input" + _advice(names, self.names, matrix.shape[1], self.count)
            )
        return matrix

    def _warn_of_counting(self, names: tuple[str, ...], what: str, owner: str) -> None:
        """Warn of real names that nothing can be compared with: their order may be another one."""
        if names == self.names or len(names) != self.count or _prefix(names) is not None:
            return
        if self.names is not None and _prefix(self.names) is None:  # as LightGBM spells them
            return
        shown = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
        warnings.warn(
            f"{what} has names for its columns ({shown}), {owner} has none: they are taken in "
            "their order",
            DataWarning,
            stacklevel=5,
        )

    def places_in(self, other: Columns, what: str = "X") -> npt.NDArray[np.int64]:
        """Return where each of these columns stands among others: by name, else by position."""
        found = None if other.names is None else self.places(other.names, what)
        if found is not None:
            return np.array(found, np.int64)
        if other.count != self.count:
            raise DataError(
                f"{what} has {other.count} features, but the model is expecting {self.count} "
                "features as input"
            )
        return np.arange(self.count)

    def places(self, names: Sequence[str], what: str = "X") -> list[int] | None:
        """Where these columns stand among ``names``.

        None if they are all there is, in order, or if names do not tell and the caller must count.
        """
        if self.names is None:
            return None
        names = _as_spelt(tuple(names), set(self.names))
        if names == self.names:
            return None
        if set(names).isdisjoint(self.names) and _prefix(self.names) != _prefix(names):
            return None
        _refuse_duplicates(names, what)
        place = {name: j for j, name in enumerate(names)}
        lacking = [name for name in self.names if name not in place]
        if lacking:
            shown = ", ".join(map(repr, lacking[:5])) + (", ..." if len(lacking) > 5 else "")
            raise DataError(
                f"{what} lacks {len(lacking)} of the {self.count} features that the model was "
                f"trained with: {shown}" + _advice(names, self.names, len(names), self.count)
            )
        return [place[name] for name in self.names]


def _as_spelt(names: tuple[str, ...], wanted: set[str]) -> tuple[str, ...]:
    """Names as LightGBM spells them, with ``_`` for blanks, if only so all are found."""
    spelt = tuple(name.replace(" ", "_") for name in names)
    return names if set(names) >= wanted or not set(spelt) >= wanted else spelt


def _numbering(names: tuple[str, ...]) -> tuple[str, int] | None:
    """How names only number the columns: prefix and first number; None if they are real names."""
    for prefix in ("f", ""):
        for first in (0, 1):
            if names and all(name == f"{prefix}{first + i}" for i, name in enumerate(names)):
                return prefix, first
    return None


def _prefix(names: tuple[str, ...]) -> str | None:
    numbering = _numbering(names)
    return None if numbering is None else numbering[0]


def _refuse_duplicates(names: tuple[str, ...], what: str) -> None:
    if len(set(names)) != len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(f"{what}: the column {twice!r} occurs twice")


def _advice(
    names: tuple[str, ...] | None, wanted: tuple[str, ...] | None, count: int, expected: int
) -> str:
    """Help where columns that text numbers do not reach those of a model."""
    numbering = None if names is None else _numbering(names)
    if numbering is None or numbering[0] != "f" or count >= expected:
        return ""
    first = None if wanted is None else first_number(wanted)
    if first is not None and first == numbering[1]:
        return f" (text that lacks the last features: load it with n_features={expected})"
    if first == 0 or (first is None and count + 1 == expected and numbering[1] == 1):
        return (
            ". The text counts features from 1; a model with one feature more was probably trained "
            "on the same numbers counted from 0, with an empty feature 0: load the text with "
            f"first_feature=0, n_features={expected}"
        )
    return (
        f" (text that does not mention all features: load it with n_features={expected} and the "
        "first_feature, 0 or 1, of the training data)"
    )
