"""The dictionary of a categorical column: its values, each with a code.

A matrix of features holds numbers. A categorical column holds *codes* as float32: 0, 1, ... for the
categories of its ``Categories``, NaN for a missing value and for one that the dictionary does not
know. The dictionary belongs to the matrix (``FeatureMatrix.categories``) and later to the model
(``Columns.categories``), which codes other data by value.

Values are texts, whole numbers and booleans, and each stays what it is: ``"1"``, ``1`` and ``True``
are three categories. Numpy scalars count as the Python values they hold. A text is its sequence of
Unicode code points: nothing is stripped, folded or normalised, NUL, quotes and line ends are
characters like others, and a text that is not valid Unicode (a lone surrogate) is refused, as bytes
are. A float is refused, whole or not: a table column with missing whole numbers becomes whole
numbers before it comes here.

Codes do not depend on the order of rows: booleans come first, then whole numbers, then texts, each
kind in ascending order (texts by code points).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress, repeat
from typing import Any, TypeAlias

import numpy as np

from rankgrove.errors import DataError, ModelError

Value: TypeAlias = bool | int | str

# Most codes of a column on which trees are grown: a code of 16 bits, and one for missing values.
MAX_CATEGORIES = 65_534
# Codes of a column unless the caller wants more or fewer; rarer values are pooled.
DEFAULT_CATEGORIES = 4_096
# Most values of a column of data: whole numbers that float32 tells apart.
MOST_CODES = 1 << 24
INTEGERS = range(-(2**63), 2**64)


# What a field of CSV without quotes says if it is missing.
MISSING_WORDS = ["", "NA", "na", "N/A", "n/a", "NULL", "null", "Null", "NaN", "nan", "NAN"]


@dataclass(frozen=True, eq=False)
class Categories:
    """The values of a categorical column; the code of a value is its index.

    Attributes
    ----------
    values : the categories that have a code of their own, in canonical order
    pooled : rare values, which share the last code, ``len(values)``; in canonical order
    untyped : whether the values come from a source without types (texts of CSV, numbers of arrays)
        and may stand for values of another kind: see ``data.core.category_maps``
    """

    values: tuple[Value, ...]
    pooled: tuple[Value, ...] = ()
    untyped: bool = False

    def __post_init__(self) -> None:
        for name in ("values", "pooled"):
            given = getattr(self, name)
            normal = sorted(_normalised(given), key=_order_of(given))
            if normal != [*given] or [*map(type, normal)] != [*map(type, given)]:
                raise DataError(f"the {name} of a dictionary are not in canonical order")
        every = (*self.values, *self.pooled)
        if len(set(keys(every))) != len(every):
            raise DataError("a value occurs twice in a dictionary of categories")
        if self.n_codes > MOST_CODES:
            raise DataError(f"a column has {self.n_codes} categories: there may be 2^24")

    @classmethod
    def of(
        cls,
        values: Iterable[Any],
        counts: Iterable[int] | None = None,
        limit: int = DEFAULT_CATEGORIES,
        *,
        untyped: bool = False,
    ) -> Categories:
        """Make the dictionary of distinct values, in any order.

        Parameters
        ----------
        values : the distinct values that are not missing
        counts : rows that have each; all count alike if None
        limit : most codes, at least 2; if there are more values, the rarest share the last code (of
            equally frequent ones those that come last in canonical order)
        untyped : as the attribute
        """
        given = _normalised([*values])
        rows = np.ones(len(given), np.int64) if counts is None else np.array([*counts], np.int64)
        if len(rows) != len(given):
            raise DataError(f"{len(rows)} counts for {len(given)} categories")
        if not 2 <= limit <= MOST_CODES:
            raise DataError(f"the limit of categories must be from 2 to 2^24, not {limit}")
        if len(given) <= limit:
            return cls(tuple(sorted(given, key=_order_of(given))), untyped=untyped)
        by_value = _order_of(given)
        keyed = given if by_value is None else [*map(by_value, given)]
        order = sorted(range(len(given)), key=keyed.__getitem__)
        ordered = [given[i] for i in order]
        rare = np.ones(len(given), bool)
        rare[np.argsort(-rows[order], kind="stable")[: limit - 1]] = False
        return cls(
            tuple(compress(ordered, (~rare).tolist())),
            tuple(compress(ordered, rare.tolist())),
            untyped,
        )

    @property
    def n_codes(self) -> int:
        """Number of codes: one per value, and one for the pooled values if there are any."""
        return len(self.values) + bool(self.pooled)

    @cached_property
    def codes(self) -> Mapping[tuple[str, Value], int]:
        """The code of each value, by its ``key``; what is not there is unknown."""
        codes = chain(range(len(self.values)), repeat(len(self.values)))
        return dict(zip(keys((*self.values, *self.pooled)), codes, strict=False))

    def code(self, value: Any) -> int | None:
        """Return the code of a value; None if it is not in the dictionary."""
        return self.codes.get(key(category(value)))

    def name(self, code: int) -> str:
        """Return the display text of a code: the value, or the number of pooled rare values."""
        if code == len(self.values) and self.pooled:
            return f"other ({len(self.pooled)} rare values)"
        return str(self.values[code])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Categories)
            and (self.values, self.pooled) == (other.values, other.pooled)
            and self._kinds == other._kinds  # True equals 1
        )

    def __hash__(self) -> int:
        return hash((self.values, self.pooled))

    @property
    def _kinds(self) -> list[type]:
        return [*map(type, self.values), *map(type, self.pooled)]

    def get_state(self) -> dict[str, list[Value]]:
        """Return the dictionary as values for JSON."""
        return {"values": list(self.values), "pooled": list(self.pooled)}

    @classmethod
    def from_state(cls, state: Any) -> Categories:
        """Build a dictionary from its ``get_state``; ModelError if it is none."""
        lists = state if isinstance(state, dict) and set(state) == {"values", "pooled"} else {}
        if not lists or not all(isinstance(values, list) for values in lists.values()):
            raise ModelError(f"a dictionary of categories is {state!r:.100}")
        try:
            return cls(tuple(lists["values"]), tuple(lists["pooled"]))
        except DataError as error:
            raise ModelError(str(error)) from error


CategoriesByColumn: TypeAlias = Mapping[int, Categories]


def category(value: Any) -> Value:
    """Return a value of a categorical column as a Python text, whole number or boolean."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise DataError(f"the category {value!r:.60} is not valid Unicode") from None
        return str(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value not in INTEGERS:
            raise DataError(f"the category {value!r:.60} is no whole number of 64 bits")
        return int(value)
    raise DataError(
        f"the category {value!r:.60} is a {type(value).__name__}: categories are texts, whole "
        "numbers and booleans"
    )


def key(value: Value) -> tuple[str, Value]:
    """Return the dictionary key of a value: its type and value, since True == 1 in Python."""
    return type(value).__name__, value


def keys(values: Sequence[Value]) -> Iterator[tuple[str, Value]]:
    """Return the ``key`` of each of many values."""
    kinds = {kind: kind.__name__ for kind in set(map(type, values))}
    if len(kinds) == 1:
        return zip(repeat(*kinds.values()), values, strict=False)
    return zip(map(kinds.__getitem__, map(type, values)), values, strict=True)


def selected(categories: CategoriesByColumn, places: Iterable[int]) -> CategoriesByColumn:
    """Return the dictionaries of some columns, by their new numbers."""
    if not categories:
        return {}
    return {new: categories[int(old)] for new, old in enumerate(places) if int(old) in categories}


def _normalised(values: Sequence[Any]) -> list[Value]:
    """Return values as ``category`` does, many texts or whole numbers at once."""
    kinds = set(map(type, values))
    if kinds == {str}:
        with suppress(UnicodeEncodeError):
            "".join(values).encode()
            return [*values]
    if kinds == {int} and min(values) in INTEGERS and max(values) in INTEGERS:
        return [*values]
    return [category(value) for value in values]


def _order_of(values: Sequence[Any]) -> Callable[[Value], Any] | None:
    """Return the key of the canonical order; None: values of one kind have it by themselves."""
    return None if len(set(map(type, values))) <= 1 else _order


def _order(value: Value) -> tuple[int, Value]:
    return (0 if isinstance(value, bool) else 1 if isinstance(value, int) else 2), value
