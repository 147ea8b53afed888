"""The columns that a model was trained with, and the matching of other data to them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.names import (
    default_feature_names,
    first_duplicate,
    first_number,
    match_names,
    numbering,
)
from rankgrove.data.matrix.conversion import (
    column_names,
    convert,
    in_place,
    refuse_cluster_frames,
    take_columns,
)
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
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

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names; f1, f2, ... if nobody gave any."""
        return default_feature_names(self.count) if self.names is None else self.names

    @classmethod
    def of(cls, X: Any) -> Columns:
        """Columns of a matrix, data frame, Dataset, model or fitted ranker (or Columns)."""
        if isinstance(X, Columns):
            return X
        model = getattr(X, "model_", X)
        if isinstance(getattr(model, "columns", None), Columns):
            return cast(Columns, model.columns)
        names = column_names(_features(X))
        return cls(names, len(names) if names is not None else int(np.shape(X)[1]))

    def match(
        self, X: Any, what: str = "X", owner: str = "the model", *, zero_copy: bool = False
    ) -> FeatureMatrix:
        """Return the matrix of X with these columns in this order.

        Errors call X ``what``, and who has these columns ``owner``.

        If names are known on both sides, columns are taken by name: the order of X does not matter
        and columns that are not wanted are left out (they may hold anything). Otherwise the number
        of columns must agree. Nothing is copied if the columns are in this order already, or with
        ``zero_copy``, which makes a float32 matrix that reads the memory of X.
        """
        if isinstance(X, (str, os.PathLike)):
            raise DataError(f"{what} must be in memory here: rankgrove.load({str(X)!r}) reads it")
        refuse_cluster_frames(X, what)
        X = _features(X)
        names = column_names(X)
        places = None if names is None else self.places(names, what)
        if places is None and names is not None:
            self._warn_of_counting(names, what, owner)
        if zero_copy:
            matrix = in_place(X, places)
        else:
            matrix = convert(X if places is None else take_columns(X, places), double=self.double)
        if matrix.n_columns != self.count:
            raise DataError(
                f"{what} has {matrix.n_columns} features, but {owner} is expecting {self.count} "
                "features as input" + _advice(names, self.names, matrix.n_columns, self.count)
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
        found = match_names(self.names, names)
        if lacking := found.lacking:
            shown = ", ".join(map(repr, lacking[:5])) + (", ..." if len(lacking) > 5 else "")
            raise DataError(
                f"{what} lacks {len(lacking)} of the {self.count} features that the model was "
                f"trained with: {shown}" + _advice(names, self.names, len(names), self.count)
            )
        return found.found()


def _as_spelt(names: tuple[str, ...], wanted: set[str]) -> tuple[str, ...]:
    """Names as LightGBM spells them, with ``_`` for blanks, if only so all are found."""
    spelt = tuple(name.replace(" ", "_") for name in names)
    return names if set(names) >= wanted or not set(spelt) >= wanted else spelt


def _prefix(names: tuple[str, ...]) -> str | None:
    numbered = numbering(names)
    return None if numbered is None else numbered[0]


def _refuse_duplicates(names: tuple[str, ...], what: str) -> None:
    if (twice := first_duplicate(names)) is not None:
        raise DataError(f"{what}: the column {twice!r} occurs twice")


def _advice(
    names: tuple[str, ...] | None, wanted: tuple[str, ...] | None, count: int, expected: int
) -> str:
    """Help where columns that text numbers do not reach those of a model."""
    numbered = None if names is None else numbering(names)
    if numbered is None or numbered[0] != "f" or count >= expected:
        return ""
    first = None if wanted is None else first_number(wanted)
    if first is not None and first == numbered[1]:
        return f" (text that lacks the last features: load it with n_features={expected})"
    if first == 0 or (first is None and count + 1 == expected and numbered[1] == 1):
        return (
            ". The text counts features from 1; a model with one feature more was probably trained "
            "on the same numbers counted from 0, with an empty feature 0: load the text with "
            f"first_feature=0, n_features={expected}"
        )
    return (
        f" (text that does not mention all features: load it with n_features={expected} and the "
        "first_feature, 0 or 1, of the training data)"
    )


def _features(X: Any) -> Any:
    """Return the matrix of a Dataset; anything else as it is."""
    return X.matrix if isinstance(X, Dataset) else X


def refuse_other_reading(X: Any, absent: str | None, what: str) -> None:
    """Refuse a Dataset whose absent features were read otherwise than those of the model."""
    refuse_readings(X.absent if isinstance(X, Dataset) else None, absent, what)


def refuse_readings(own: str | None, absent: str | None, what: str) -> None:
    """Refuse two ways of reading absent features; None is either."""
    if own is not None and absent is not None and own != absent:
        raise DataError(
            f"{what}: features absent from the text were read as {own!r}, but as {absent!r} when "
            f"the model was trained: load the data with absent={absent!r}"
        )
