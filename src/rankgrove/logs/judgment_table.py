"""Judgments in a plain table (CSV, TSV, Parquet, Arrow): query, document, grade, [weight]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.logs.options import LogOptions
from rankgrove.logs.plain_tables import (
    DOCUMENTS,
    QUERIES,
    as_ids,
    column_named,
    finite_numbers,
    is_table,
    optional_column,
    refuse,
    table_batches,
)

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"query", "document", "grade"})
GRADES = ("grade", "rating", "label", "relevance", "rel", "judgment", "judgement", "gain")
_WEIGHTS = ("weight", "sample_weight")

recognises = is_table


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the judgments batch by batch."""
    return table_batches(path, lambda batch: _judgments(batch, options, counts))


def _judgments(batch: pa.Table, options: LogOptions, counts: Counter[str]) -> pa.Table:
    import pyarrow as pa

    names = batch.column_names
    grade = column_named(names, options.grade, GRADES, "grade")
    columns = {
        "query": as_ids(batch[column_named(names, options.query, QUERIES, "query")], "query"),
        "document": as_ids(
            batch[column_named(names, options.document, DOCUMENTS, "document")], "document"
        ),
        "grade": finite_numbers(batch[grade], grade),
    }
    weight = optional_column(names, None, _WEIGHTS)
    if weight is not None:
        columns["weight"] = _weights(batch[weight], weight)
    return without_grade(pa.table(columns), counts)


def _weights(column: Any, name: str) -> Any:
    import pyarrow.compute as pc

    numbers = finite_numbers(column, name)
    wrong = pc.invert(pc.fill_null(pc.greater_equal(numbers, 0), False))
    refuse(wrong, column, f"the column {name!r} holds {{}}: a weight is a number from 0")
    return numbers


def without_grade(table: pa.Table, counts: Counter[str]) -> pa.Table:
    """Leave out, and count, rows without a grade."""
    if missing := table["grade"].null_count:
        counts["judgments without a grade"] += missing
        table = table.filter(table["grade"].is_valid())
    return table
