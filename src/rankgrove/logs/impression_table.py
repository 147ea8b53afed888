"""Impressions in a plain table (CSV, TSV, Parquet, Arrow).

Columns: query, document, position (from 1), clicked (0 or 1), and, where there are such columns,
session, time, ranker and propensity. Without a session, each query is one result list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.data.matrix.arrow_tables import decoded
from rankgrove.logs.options import LogOptions
from rankgrove.logs.plain_tables import (
    DOCUMENTS,
    QUERIES,
    as_ids,
    as_numbers,
    column_named,
    is_table,
    optional_column,
    refuse,
    table_batches,
)

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"query", "document", "position", "clicked", "session"})
_POSITIONS = ("position", "rank", "pos")
_CLICKS = ("clicked", "click", "clicks", "is_click")
_SESSIONS = ("session", "session_id", "impression_id", "search_id")
_DEEPEST = 1_000_000
_TRUTHS = {"true": "1", "false": "0"}

recognises = is_table


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the impressions batch by batch."""
    return table_batches(path, lambda batch: _impressions(batch, options))


def _impressions(batch: pa.Table, options: LogOptions) -> pa.Table:
    import pyarrow as pa

    names = batch.column_names
    query = as_ids(batch[column_named(names, options.query, QUERIES, "query")], "query")
    document = column_named(names, options.document, DOCUMENTS, "document")
    position = column_named(names, options.position, _POSITIONS, "position")
    clicked = column_named(names, options.clicked, _CLICKS, "clicked")
    session = optional_column(names, options.session, _SESSIONS)
    columns = {
        "query": query,
        "document": as_ids(batch[document], "document"),
        "position": _positions(batch[position], position),
        "clicked": _clicks(batch[clicked], clicked),
        "session": query if session is None else as_ids(batch[session], "session"),
    }
    for name in ("time", "ranker"):
        if name in names:
            columns[name] = decoded(batch[name]).cast(pa.large_string())
    if "propensity" in names:
        columns["propensity"] = _propensities(batch["propensity"])
    return pa.table(columns)


def _positions(column: Any, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = as_numbers(column, name)
    inside = pc.and_(pc.greater_equal(numbers, 1), pc.less_equal(numbers, _DEEPEST))
    whole = pc.and_(inside, pc.equal(pc.floor(numbers), numbers))
    refuse(
        pc.invert(pc.fill_null(whole, False)),
        column,
        f"the column {name!r} holds {{}}: a position is a whole number from 1 to {_DEEPEST} "
        "(add 1 to positions that count from 0)",
    )
    return numbers.cast(pa.int32())


def _propensities(column: Any) -> Any:
    import pyarrow.compute as pc

    numbers = as_numbers(column, "propensity")
    inside = pc.and_(pc.greater(numbers, 0), pc.less_equal(numbers, 1))
    refuse(
        pc.invert(pc.fill_null(inside, False)),
        column,
        "the column 'propensity' holds {}: it must be above 0 and at most 1",
    )
    return numbers


def _clicks(column: Any, name: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    given = column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        lower = pc.utf8_lower(pc.utf8_trim_whitespace(column))
        for text, number in _TRUTHS.items():
            lower = pc.if_else(pc.equal(lower, text), number, lower)
        column = lower
    numbers = as_numbers(column, name)
    bad = pc.invert(pc.is_in(numbers, pa.array([0.0, 1.0])))
    refuse(bad, given, f"the column {name!r} holds {{}}: clicked is 0 or 1")
    return numbers.cast(pa.int8())
