"""Constraints on features by name or number: monotone directions and groups that may interact."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.names import match_names
from rankgrove.rankers.base.parameters import Satisfies, numbers_reader

Directions = Sequence[int] | Mapping[str, int]
Groups = Sequence[Sequence[str | int]]


def _are_directions(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) for name in value) and _are_directions([*value.values()])
    return np.ndim(value) == 1 and bool(np.isin(np.asarray(value), (-1, 0, 1)).all())


def _read_directions(text: str) -> dict[str, int] | list[int]:
    """Read ``-1,0,1`` or ``price=-1,clicks=1``."""
    if "=" not in text:
        return numbers_reader(text)
    pairs = [part.rpartition("=") for part in text.split(",")]
    return {name.strip(): int(direction) for name, _, direction in pairs}


def _are_groups(value: Any) -> bool:
    return _is_list(value) and len(value) > 0 and all(map(_is_group, value))


def _is_group(value: Any) -> bool:
    return _is_list(value) and len(value) > 0 and all(map(_is_feature, value))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_feature(value: Any) -> bool:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return isinstance(value, str) or (whole and int(value) >= 0)


def _read_groups(text: str) -> list[list[str]]:
    """Read ``price,clicks;age,clicks``."""
    return [[name.strip() for name in group.split(",")] for group in text.split(";")]


DIRECTIONS = Satisfies(
    _are_directions, "one of -1, 0, 1 per feature, or a dict {column: -1, 0 or 1}", _read_directions
)
GROUPS = Satisfies(_are_groups, "a list of lists of columns (names or numbers)", _read_groups)


def direction_per_feature(monotone: Directions, columns: Columns) -> list[int]:
    """Return the direction of each feature of the data; columns that a dict leaves out are free."""
    if isinstance(monotone, Mapping):
        _refuse_unknown("monotone", tuple(monotone), columns)
        directions = [monotone.get(name, 0) for name in columns.all_names]
    else:
        directions = list(monotone)
    if len(directions) != columns.count:
        raise ValueError(
            f"parameter monotone has {len(directions)} entries but the data has "
            f"{columns.count} features"
        )
    for column in columns.categories:
        if directions[column]:
            raise ValueError(
                f"parameter monotone gives the column {columns.all_names[column]!r} a direction, "
                "but it holds categories, which have no order"
            )
    return directions


def groups_by_number(interactions: Groups, columns: Columns) -> list[list[int]]:
    """Return groups of features by their numbers in the data."""
    names = [feature for group in interactions for feature in group if isinstance(feature, str)]
    _refuse_unknown("interactions", tuple(names), columns)
    number = {name: i for i, name in enumerate(columns.all_names)} if names else {}
    for feature in (feature for group in interactions for feature in group):
        if not isinstance(feature, str) and int(feature) >= columns.count:
            raise ValueError(
                f"parameter interactions names the column number {feature}, but the data has "
                f"{columns.count} features, numbered from 0"
            )
    return [
        [number[feature] if isinstance(feature, str) else int(feature) for feature in group]
        for group in interactions
    ]


def _refuse_unknown(parameter: str, names: tuple[str, ...], columns: Columns) -> None:
    lacking = match_names(names, columns.all_names).lacking
    if lacking:
        close = difflib.get_close_matches(lacking[0], columns.all_names, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"parameter {parameter} names the column {lacking[0]!r}, which the data do not have"
            + hint
        )
