"""Runs in a plain table (CSV, TSV, Parquet, Arrow): query, document, score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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
    column = batch[column_named(names, None, ("score",), "score")]
    score = as_numbers(column, "score")
    wrong = pc.invert(pc.fill_null(pc.is_finite(score), False))
    refuse(wrong, column, "the column 'score' holds {}, not a finite number")
    return pa.table(
        {
            "query": as_ids(batch[column_named(names, options.query, QUERIES, "query")], "query"),
            "document": as_ids(
                batch[column_named(names, options.document, DOCUMENTS, "document")], "document"
            ),
            "score": score,
        }
    )
