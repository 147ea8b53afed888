"""Runs in a plain table (CSV, TSV, Parquet, Arrow): query, document, score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankgrove._addresses import FilePath
from rankgrove.logs.options import LogOptions
from rankgrove.logs.plain_tables import (
    DOCUMENTS,
    QUERIES,
    as_ids,
    as_numbers,
    column_named,
    is_table,
    refuse,
    table_batches,
)

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"query", "document"})

recognises = is_table


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the scores batch by batch."""
    return table_batches(path, lambda batch: _run(batch, options))


def _run(batch: pa.Table, options: LogOptions) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = batch.column_names
    column = batch[_column(names, None, ("score",), "score")]
    score = as_numbers(column, "score")
    wrong = pc.invert(pc.fill_null(pc.is_finite(score), False))
    refuse(wrong, column, "the column 'score' holds {}, not a finite number")
    return pa.table(
        {
            "query": as_ids(batch[_column(names, options.query, QUERIES, "query")], "query"),
            "document": as_ids(
                batch[_column(names, options.document, DOCUMENTS, "document")], "document"
            ),
            "score": score,
        }
    )


def _column(names: list[str], given: str | None, usual: Sequence[str], what: str) -> str:
    """Find a column; verbs have no options for those of runs, beside those of judgments."""
    return column_named(names, given, usual, what, f"rename the right one to {usual[0]!r}")
