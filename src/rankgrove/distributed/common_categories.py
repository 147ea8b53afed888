"""Common dictionaries of categorical columns for the partitions of all workers.

Each partition was read with dictionaries of its own. Rows can move to other workers only when all
partitions have the same codes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankgrove.data.core.categories import Categories
from rankgrove.data.core.category_maps import recoding, united
from rankgrove.data.core.row_batch import RowBatch
from rankgrove.data.matrix.code_maps import table_map
from rankgrove.errors import DataError

if TYPE_CHECKING:
    from rankgrove.workers.communicator import Communicator

Dictionaries = dict[str, Categories]  # by the name of the column, or its number as text


def common_categories(
    names: Sequence[str], parts: Sequence[RowBatch], communicator: Communicator
) -> tuple[list[RowBatch], Dictionaries]:
    """Return partitions with common codes, and the dictionaries by column; a collective call.

    ``names`` are those of the partitions, for errors.
    """
    own = [
        {"name": name, "columns": _columns(rows), "categories": _state(rows)}
        for name, rows in zip(names, parts, strict=True)
        if len(rows.y)
    ]
    gathered = communicator.gather(json.dumps(own).encode())
    every = [part for message in gathered for part in json.loads(message)]
    found: dict[str, list[Categories]] = {}
    for part in every:
        for column, state in part["categories"].items():
            one = Categories(tuple(state["values"]), tuple(state["pooled"]), state["untyped"])
            found.setdefault(column, []).append(one)
    _refuse_mixture(every, found)
    common = {column: united(some, f"column {column!r}") for column, some in found.items()}
    return [_recoded(rows, common) for rows in parts], common


def _columns(rows: RowBatch) -> list[str]:
    return [*(rows.names or map(str, range(rows.X.n_columns)))]


def _state(rows: RowBatch) -> dict[str, Mapping[str, object]]:
    columns = _columns(rows)
    return {
        columns[j]: {**found.get_state(), "untyped": found.untyped}
        for j, found in rows.X.categories.items()
    }


def _refuse_mixture(parts: Sequence[Mapping[str, object]], found: Mapping[str, object]) -> None:
    """Refuse a column that is categorical in some partitions and holds numbers in others."""
    for column in found:
        with_it = [part for part in parts if column in part["columns"]]  # type: ignore[operator]
        numbers = [part for part in with_it if column not in part["categories"]]  # type: ignore[operator]
        if numbers:
            other = next(part for part in with_it if part not in numbers)
            raise DataError(
                f"column {column!r} is categorical in {other['name']} and holds numbers in "
                f"{numbers[0]['name']}: name it in categorical="
            )


def _recoded(rows: RowBatch, common: Dictionaries) -> RowBatch:
    """Return a partition with the common codes."""
    if not rows.X.categories:
        return rows
    columns = _columns(rows)
    categories = {j: common.get(columns[j], own) for j, own in rows.X.categories.items()}
    maps = {
        j: table_map(recoding(own, categories[j], f"column {columns[j]!r}"))
        for j, own in rows.X.categories.items()
        if own != categories[j]
    }
    X = rows.X.map_columns(maps, categories) if maps else rows.X.with_categories(categories)
    return replace(rows, X=X)
