"""Maps between the dictionaries of a categorical column: of two data sets, of data and a model.

A *table* maps the codes of one dictionary to those of another: float32, NaN where there is none.

Sources without types (CSV, arrays of numbers) have ``untyped`` dictionaries. Next to a typed one,
such as a model's, the text ``"7"`` also means the whole number 7 (and ``"7.0"`` does, which is how
a table writes whole numbers among which some are missing), ``"true"`` the boolean, and the numbers
0 and 1 the booleans. A fit decides by all values (``typed``): they are whole numbers or booleans if
all of them can be, else texts. Next to a model none of whose values looks like one of theirs (whole
numbers where the model has names of brands), they are refused as those of a typed table are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import INTEGERS, MOST_CODES, Categories, Value, key, keys
from rankgrove.errors import DataError

Table = npt.NDArray[np.float32]

_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,19}))(\.0*)?")
_BOOLEANS = {"True": True, "true": True, "TRUE": True, "False": False, "false": False}
_BOOLEANS["FALSE"] = False
_KINDS = {"str": "texts", "int": "whole numbers", "bool": "booleans"}


def typed(categories: Categories) -> Categories:
    """Decide what the values of an untyped dictionary are; one with types is returned as it is."""
    if not categories.untyped:
        return categories
    values = (*categories.values, *categories.pooled)
    for read in (_as_whole, _as_boolean):
        meant = [read(value) for value in values]
        if values and None not in meant:
            if categories.pooled:
                raise DataError("an untyped dictionary has no pooled values")
            return Categories.of(set(meant), limit=MOST_CODES)
    return Categories(categories.values, categories.pooled)


def recoding(own: Categories, other: Categories, where: str, owner: str = "other data") -> Table:
    """Return the table from the codes of one dictionary to another's; NaN if not in the other.

    Two dictionaries of different kinds (texts and whole numbers) are refused: every value would be
    unknown. Errors begin with ``where`` and call who has the other dictionary ``owner``.
    """
    if own == other:
        return np.arange(own.n_codes, dtype=np.float32)
    refuse_other_kinds(own, other, where, owner)
    if own.untyped:
        codes = [_code(value, True, other) for value in own.values]
        if codes.count(None) == len(codes):
            _refuse_other_looks(own, other, where, owner)
    else:
        codes = [*map(other.codes.get, keys(own.values))]
    if own.pooled:
        found = {_code(value, own.untyped, other) for value in own.pooled}
        if len(found) > 1:
            raise DataError(
                f"{where}: rare values were pooled when these data were read like a model, and "
                "cannot be told apart any more: load the data again"
            )
        codes.append(found.pop())
    return np.array(codes, np.float64).astype(np.float32)  # None is NaN


def as_numbers_table(own: Categories, where: str) -> Table:
    """Return the numbers that the categories are, for a column that holds numbers elsewhere."""
    meant = [value if not isinstance(value, str) else None for value in own.values]
    if None in meant and own.untyped:
        meant = [_as_whole(value) for value in own.values]
    if None in meant or own.pooled:
        example = own.values[meant.index(None)] if None in meant else own.pooled[0]
        raise DataError(
            f"{where} holds categories, such as {example!r:.60}, but numbers are wanted: the model "
            "was trained with numbers in this column"
        )
    return np.array([float(value or 0) for value in meant], np.float32)


def codes_before(new: Categories, old: Categories, where: str) -> npt.NDArray[np.int64]:
    """Return the old code of each new code, -1 where there was none.

    The new dictionary must have all values of the old one, so that what was learnt of them stays.
    Its pooled values count as the pooled ones of the old dictionary did, if there were any.
    """
    lost = next((value for kind, value in old.codes if (kind, value) not in new.codes), None)
    if lost is not None:
        raise DataError(
            f"{where}: the category {lost!r:.60} of the model is not among those of the data"
        )
    codes = [-1 if code is None else code for code in map(old.codes.get, keys(new.values))]
    if new.pooled:
        codes.append(len(old.values) if old.pooled else -1)
    return np.array(codes, np.int64)


def with_values_of(first: Categories, second: Categories, where: str) -> Categories:
    """Return the dictionary of two models' values: one that is pooled in both stays pooled."""
    refuse_other_kinds(second, first, where)
    values = dict.fromkeys(keys((*first.values, *second.values)))
    pooled = dict.fromkeys(keys((*first.pooled, *second.pooled)))
    rare = [value for kind, value in pooled if (kind, value) not in values]
    return Categories(
        Categories.of([value for _, value in values], limit=MOST_CODES).values,
        Categories.of(rare, limit=MOST_CODES).values,
    )


def united(dictionaries: Sequence[Categories], where: str) -> Categories:
    """Return one dictionary with the values of all; values of different kinds are refused."""
    first = next((one for one in dictionaries if not one.untyped), dictionaries[0])
    if all(one == first for one in dictionaries):
        return first
    if any(one.pooled for one in dictionaries):
        raise DataError(
            f"{where}: rare values were pooled when some of the data were read like a model: load "
            "them again, without like="
        )
    loose = [one for one in dictionaries if one.untyped]
    strict = [one for one in dictionaries if not one.untyped]
    every = _with_values_of(loose, untyped=True)
    if not strict:
        return every
    parts = [*strict, typed(every)] if every.values else strict
    for part in parts[1:]:
        refuse_other_kinds(part, parts[0], where)
    return _with_values_of(parts)


def _with_values_of(dictionaries: Sequence[Categories], *, untyped: bool = False) -> Categories:
    distinct = set(chain.from_iterable(keys(one.values) for one in dictionaries))
    return Categories.of([value for _, value in distinct], limit=MOST_CODES, untyped=untyped)


def looked_up(table: Table, codes: npt.NDArray[Any]) -> Table:
    """Apply a table to codes; NaN stays NaN."""
    places = np.where(np.isnan(codes), len(table), codes).astype(np.int64)
    return np.append(table, np.float32(np.nan))[places]


def refuse_other_kinds(
    own: Categories, other: Categories, where: str, owner: str = "other data"
) -> None:
    """Refuse dictionaries that have no kind of value in common; empty ones have all."""
    kinds, wanted = _kinds(own), _kinds(other)
    if kinds and wanted and not kinds & wanted:
        raise _other_kinds(own, other, where, owner)


def _other_kinds(own: Categories, other: Categories, where: str, owner: str) -> DataError:
    mine, theirs = _shown(own), _shown(other)
    return DataError(f"{where} holds {mine}, but that of {owner} holds {theirs}")


def _refuse_other_looks(own: Categories, other: Categories, where: str, owner: str) -> None:
    """Refuse untyped values that look like another kind than all values of the other dictionary."""
    mine = {_look(value) for value in (*own.values, *own.pooled)}
    theirs = {_look(value) for value in (*other.values, *other.pooled)}
    if mine and theirs and not mine & theirs:
        given, wanted = (*own.values, *own.pooled)[0], (*other.values, *other.pooled)[0]
        raise DataError(
            f"{where} holds {_KINDS[_look(given)]} (such as {given!r:.60}), but "
            f"that of {owner} holds {_KINDS[_look(wanted)]} (such as {wanted!r:.60})"
        )


def _look(value: Value) -> str:
    """Return the kind that a value would have if it came from a source without types."""
    if isinstance(value, bool) or value in _BOOLEANS:
        return "bool"
    return "str" if _as_whole(value) is None else "int"


def _kinds(categories: Categories) -> set[str]:
    """Return the types of the values; an untyped value counts for all types that it may have."""
    types = {*map(type, categories.values), *map(type, categories.pooled)}
    kinds = {kind.__name__ for kind in types}
    if categories.untyped and kinds:
        kinds |= {"int", "bool"}
    return kinds


def _shown(categories: Categories) -> str:
    value = (*categories.values, *categories.pooled)[0]
    kind = _look(value) if categories.untyped else type(value).__name__
    return f"{_KINDS[kind]} (such as {value!r:.60})"


def _code(value: Value, untyped: bool, other: Categories) -> int | None:
    """Return the code of a value in another dictionary, trying all types of an untyped value."""
    readings = _readings(value) if untyped else iter((value,))
    return next((code for one in readings if (code := other.codes.get(key(one))) is not None), None)


def _readings(value: Value) -> Iterator[Value]:
    yield value
    readers: tuple[Callable[[Value], Value | None], ...] = (_as_whole, _as_boolean)
    for read in readers:
        if (meant := read(value)) is not None:
            yield meant


def _as_whole(value: Value) -> int | None:
    if isinstance(value, str):
        found = _WHOLE.fullmatch(value)
        if found is None or int(found[1]) not in INTEGERS:
            return None
        return int(found[1])
    return None if isinstance(value, bool) else value


def _as_boolean(value: Value) -> bool | None:
    if isinstance(value, str):
        return _BOOLEANS.get(value)
    return bool(value) if value in (0, 1) else None
