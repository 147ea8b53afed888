"""Features in a plain table (CSV, TSV, Parquet, Arrow): query, document, one column per feature.

Columns of texts are no features; they are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgrove.errors import DataError
from rankgrove.logs.options import LogOptions
from rankgrove.logs.plain_tables import (
    DOCUMENTS,
    QUERIES,
    as_ids,
    as_numbers,
    column_named,
    is_table,
    table_batches,
)

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"query", "document"})
_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"

recognises = is_table


def read(path: Path, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the features batch by batch; the first batch decides which columns are features."""
    features: list[str] | None = None

    def convert(batch: pa.Table) -> pa.Table:
        nonlocal features
        names = batch.column_names
        query = column_named(names, options.query, QUERIES, "query")
        document = column_named(names, options.document, DOCUMENTS, "document")
        if features is None:
            rest = [name for name in names if name not in (query, document)]
            features = [name for name in rest if _holds_numbers(batch[name], name)]
            texts = [name for name in rest if name not in features]
            if texts:
                shown = ", ".join(texts[:8]) + (", ..." if len(texts) > 8 else "")
                counts[f"columns of texts left out ({shown})"] += len(texts)
        return _features(batch, query, document, features)

    return table_batches(path, convert)


def _features(batch: pa.Table, query: str, document: str, features: list[str]) -> pa.Table:
    import pyarrow as pa

    columns = [as_ids(batch[query], "query"), as_ids(batch[document], "document")]
    columns += [as_numbers(batch[name], name) for name in features]
    return pa.table(columns, names=["query", "document", *features])


def _holds_numbers(column: Any, name: str) -> bool:
    """Tell numbers from texts; a column that holds both raises the error of the first text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        as_numbers(column, name)
    except DataError:
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return False
        numeric = pc.fill_null(pc.match_substring_regex(column, _NUMBER), False)
        if pc.any(numeric).as_py():
            raise
        return False
    return True
