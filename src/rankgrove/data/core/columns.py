"""The columns that a model was trained with, and the matching of other data to them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import CategoriesByColumn
from rankgrove.data.core.category_maps import as_numbers_table, with_values_of
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.names import (
    default_feature_names,
    first_duplicate,
    first_number,
    match_names,
    numbering,
)
from rankgrove.data.matrix.code_maps import code_maps
from rankgrove.data.matrix.conversion import (
    categorical_columns,
    coded_column,
    column_names,
    convert,
    in_place,
    refuse_absent_rows,
    take_columns,
)
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.errors import DataError, DataWarning


@dataclass(frozen=True)
class Columns:
    """Names (None if nobody gave any) and number of the columns of a feature matrix.

    Names that only number the columns in order (``f1, f2, ...`` of text, ``0, 1, ...`` of a frame)
    are compared with names of the same kind, and wherever one name is on both sides; against other
    names only the count is compared.
    ``double``: the model compares in float64, so frames are converted to float64 values.
    ``categories`` are the dictionaries of categorical columns, by the number of the column.
    """

    names: tuple[str, ...] | None
    count: int
    double: bool = field(default=False, compare=False)
    categories: CategoriesByColumn = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.names is not None:
            if len(self.names) != self.count:
                raise DataError(f"{len(self.names)} feature names for {self.count} features")
            _refuse_duplicates(self.names, "the columns")
        for column in self.categories:
            if not 0 <= column < self.count:
                raise DataError(f"categories of column {column}, of {self.count} columns")

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names; f1, f2, ... if nobody gave any."""
        return default_feature_names(self.count) if self.names is None else self.names

    @classmethod
    def of(cls, X: Any) -> Columns:
        """Return the columns of a matrix, data frame, Dataset, model or fitted ranker."""
        if isinstance(X, Columns):
            return X
        model = getattr(X, "model_", X)
        if isinstance(getattr(model, "columns", None), Columns):
            return cast(Columns, model.columns)
        features = _features(X)
        names = column_names(features)
        categories = features.categories if isinstance(features, FeatureMatrix) else {}
        count = len(names) if names is not None else int(np.shape(X)[1])
        return cls(names, count, categories=categories)

    def match(
        self, X: Any, what: str = "X", owner: str = "the model", *, zero_copy: bool = False
    ) -> FeatureMatrix:
        """Return the matrix of X with these columns in this order.

        Errors call X ``what``, and the owner of these columns ``owner``.

        If names are known on both sides, columns are taken by name: the order of X does not matter
        and columns that are not wanted are left out (they may hold anything). Otherwise the number
        of columns must agree. Nothing is copied if the columns are in this order already, or with
        ``zero_copy``, which makes a float32 matrix that reads the memory of X.

        Categorical columns get the codes of these columns' dictionaries, by value. A value that is
        not there becomes missing; many of them (see ``UNSEEN_SHARE``) are a warning.
        """
        if isinstance(X, (str, os.PathLike)):
            raise DataError(f"{what} must be in memory here: rankgrove.load({str(X)!r}) reads it")
        refuse_absent_rows(X, what)
        file = X.source if isinstance(X, Dataset) else None
        X = _features(X)
        names = column_names(X)
        places = None if names is None else self.places(names, what)
        if places is None and names is not None:
            self._warn_of_counting(names, what, owner)
            if file is not None and len(names) == self.count:
                self.warn_of_numbers(names, file, owner, stacklevel=4)
        chosen = X if places is None or zero_copy else take_columns(X, places)
        self._refuse_categories(X if places is None else take_columns(X, places), what)
        coded = self.categories.keys()
        if zero_copy:
            matrix = in_place(X, places, categorical=coded)
        else:
            matrix = convert(chosen, double=self.double, categorical=coded)
        if matrix.n_columns != self.count:
            raise DataError(
                f"{what} has {matrix.n_columns} features, but {owner} is expecting {self.count} "
                "features as input" + _advice(names, self.names, matrix.n_columns, self.count)
            )
        if not self.categories and not matrix.categories:
            return matrix
        maps = code_maps(matrix, self.categories, self.all_names, what, owner)
        is_given = isinstance(X, FeatureMatrix) or not matrix.categories
        if not maps:
            return matrix.with_categories(self.categories)
        if zero_copy:
            return matrix.map_columns(maps, self.categories)
        values = matrix.to_array(f"{what} with categorical columns")
        values = np.array(values) if is_given else values
        for j, one in maps.items():
            values[:, j] = one.apply(values[:, j])
        return DenseMatrix(values, matrix.names, self.categories)

    def _refuse_categories(self, X: Any, what: str) -> None:
        """Refuse categorical columns of a frame where the model has numbers."""
        for j in categorical_columns(X, None):
            if j not in self.categories and j < self.count:
                where = f"{what}: column {self.all_names[j]!r}"
                as_numbers_table(coded_column(X, j, self.all_names[j]).categories, where)

    def _warn_of_counting(self, names: tuple[str, ...], what: str, owner: str) -> None:
        """Warn that columns are matched by position because only one side has real names."""
        if names == self.names or len(names) != self.count or _prefix(names) is not None:
            return
        if self.names is not None and _prefix(self.names) is None:  # as LightGBM spells them
            return
        warnings.warn(
            f"{what} has names for its columns ({_first_three(names)}), {owner} has none: they are "
            "taken in their order",
            DataWarning,
            stacklevel=5,
        )

    def warn_of_numbers(
        self, names: tuple[str, ...], file: str, owner: str = "the model", *, stacklevel: int = 2
    ) -> None:
        """Warn that columns of a file, which only numbers them, are matched by position."""
        if self.names is None or _prefix(names) is None or _prefix(self.names) is not None:
            return
        if not set(names).isdisjoint(self.names):
            return
        warnings.warn(
            f"{file} has no names for its columns, {owner} has ({_first_three(self.names)}): they "
            "are taken in their order",
            DataWarning,
            stacklevel=stacklevel + 1,
        )

    def places_in(self, other: Columns, what: str = "X") -> npt.NDArray[np.int64]:
        """Return the position of each of these columns among others: by name, else by position.

        A column must be categorical in both or in neither.
        """
        found = None if other.names is None else self.places(other.names, what)
        if found is None and other.count != self.count:
            raise DataError(
                f"{what} has {other.count} features, but the model is expecting {self.count} "
                "features as input"
            )
        places = np.arange(self.count) if found is None else np.array(found, np.int64)
        for j in [*self.categories, *(j for j, p in enumerate(places) if p in other.categories)]:
            if j not in self.categories or int(places[j]) not in other.categories:
                own, its = ("categories", "numbers")[:: 1 if j in self.categories else -1]
                raise DataError(
                    f"column {self.all_names[j]!r} holds {its} in {what}, but {own} in the model"
                )
        return places

    def with_values_of(self, others: Iterable[Columns]) -> Columns:
        """Return these columns with the categories of other models' columns as well."""
        categories = dict(self.categories)
        for other in others:
            for j, place in enumerate(other.places_in(self, "another model").tolist()):
                if j in other.categories and categories[place] != other.categories[j]:
                    categories[place] = with_values_of(
                        categories[place], other.categories[j], f"column {self.all_names[place]!r}"
                    )
        return replace(self, categories=categories)

    def places(self, names: Sequence[str], what: str = "X") -> list[int] | None:
        """Return the positions of these columns among ``names``.

        None if ``names`` are these columns in order, or if columns must be matched by position.
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
    """Return names spelt as by LightGBM (``_`` for blanks) if only then all of them are found."""
    spelt = tuple(name.replace(" ", "_") for name in names)
    return names if set(names) >= wanted or not set(spelt) >= wanted else spelt


def _first_three(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")


def _prefix(names: tuple[str, ...]) -> str | None:
    numbered = numbering(names)
    return None if numbered is None else numbered[0]


def _refuse_duplicates(names: tuple[str, ...], what: str) -> None:
    if (twice := first_duplicate(names)) is not None:
        raise DataError(f"{what}: the column {twice!r} occurs twice")


def _advice(
    names: tuple[str, ...] | None, wanted: tuple[str, ...] | None, count: int, expected: int
) -> str:
    """Return advice if numbered columns of text are fewer than those of a model."""
    numbered = None if names is None else numbering(names)
    if numbered is None or numbered[0] != "f" or count >= expected:
        return ""
    if wanted is not None and numbering(wanted) is None:
        return (
            ". The text only numbers its columns, and the model has names "
            f"({_first_three(wanted)}): give it a table with these columns"
        )
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
    """Refuse two different readings of absent features; None matches both."""
    if own is not None and absent is not None and own != absent:
        raise DataError(
            f"{what}: features absent from the text were read as {own!r}, but as {absent!r} when "
            f"the model was trained: load the data with absent={absent!r}"
        )
