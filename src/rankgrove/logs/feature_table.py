"""Features in a plain table (CSV, TSV, Parquet, Arrow): query, document, one column per feature.

Columns whose type says so and those named in ``categorical=`` are categorical: dictionaries. Other
columns of texts are no features; they are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.data.matrix.arrow_tables import decoded
from rankgrove.data.matrix.coded_columns import holds_categories, is_category_type
from rankgrove.data.reading.arrow import written_categorical
from rankgrove.errors import DataError
from rankgrove.logs.options import LogOptions
from rankgrove.logs.plain_tables import (
    DOCUMENTS,
    QUERIES,
    as_ids,
    as_numbers,
    column_named,
    is_table,
    optional_column,
    table_batches,
)

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"query", "document", "categorical", "ignore"})
_NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"

recognises = is_table


@dataclass(frozen=True)
class _Columns:
    """The columns of a table by their use."""

    query: str
    document: str
    features: tuple[str, ...]
    categorical: frozenset[str]


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the features batch by batch; the first batch decides which columns are features."""
    columns: _Columns | None = None

    def convert(batch: pa.Table) -> pa.Table:
        nonlocal columns
        if columns is None:
            columns = _columns(batch, options, counts)
        return _features(batch, columns)

    return table_batches(path, convert, options.categorical or ())


def _columns(batch: pa.Table, options: LogOptions, counts: Counter[str]) -> _Columns:
    """Find the columns; those of texts that are not categorical are left out and counted."""
    names = batch.column_names
    query = column_named(names, options.query, QUERIES, "query")
    document = column_named(names, options.document, DOCUMENTS, "document")
    named = [optional_column(names, name, ()) for name in options.categorical or ()]
    texts_ignored = options.ignore == "texts"
    given = () if texts_ignored else options.ignore or ()
    ignored = {optional_column(names, name, ()) for name in given}
    for name in named:
        if name in (query, document):
            raise DataError(f"the column {name!r} cannot be categorical: it is no feature")
        if name in ignored:
            raise DataError(f"the column {name!r} cannot be both in categorical= and in ignore=")
    rest = [name for name in names if name not in (query, document) and name not in ignored]
    written = written_categorical(batch.schema)
    categorical = frozenset(
        name
        for name in rest
        if name in named or name in written or is_category_type(batch[name].type)
    )
    for name in categorical:
        if not holds_categories(batch[name].type):
            raise DataError(
                f"the column {name!r} holds {batch[name].type}: a categorical column holds texts, "
                "whole numbers or booleans"
            )
    features = [n for n in rest if n in categorical or _holds_numbers(batch[n], n)]
    texts = [name for name in rest if name not in features]
    if texts:
        shown = ", ".join(texts[:8]) + (", ..." if len(texts) > 8 else "")
        able = not texts_ignored and any(holds_categories(batch[name].type) for name in texts)
        hint = "; categorical= keeps columns of categories" if able else ""
        counts[f"columns of texts left out ({shown}){hint}"] += len(texts)
    return _Columns(query, document, tuple(features), categorical)


def _features(batch: pa.Table, columns: _Columns) -> pa.Table:
    import pyarrow as pa

    arrays = [as_ids(batch[columns.query], "query"), as_ids(batch[columns.document], "document")]
    arrays += [
        _dictionary(batch[name]) if name in columns.categorical else as_numbers(batch[name], name)
        for name in columns.features
    ]
    names = ["query", "document", *columns.features]
    return pa.table(arrays, names=names, metadata=batch.schema.metadata)


def _dictionary(column: Any) -> Any:
    """Return a column of categories by value, as texts, whole numbers or booleans."""
    import pyarrow as pa

    column = decoded(column)
    kind = column.type
    if pa.types.is_null(kind) or pa.types.is_string(kind) or kind == pa.string_view():
        kind = pa.large_string()
    return column.cast(kind).dictionary_encode()


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
