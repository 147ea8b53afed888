"""Plain tables (CSV, TSV, Parquet, Arrow) in batches, and their columns by conventional names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgrove.data.core.names import first_duplicate
from rankgrove.data.reading.byte_stream import open_bytes
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

QUERIES = ("query", "query_text", "user_query", "keywords", "qid", "query_id", "topic")
DOCUMENTS = ("document", "docid", "doc_id", "document_id", "doc", "object_id", "id")
_BLOCK_BYTES = 8 << 20


def is_table(head: bytes, path: Path) -> bool:
    """Tell whether the bytes are the beginning of Parquet, Arrow, or a CSV file with a header."""
    if head.startswith((b"PAR1", b"ARROW1")):
        return True
    return len(header_of(head)) > 1


def header_of(head: bytes) -> list[str]:
    """Return the column names of a CSV file by its first bytes; none if it is not one."""
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].rstrip(b"\r")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return []
    if not text.strip() or text.lstrip()[0] in "{[":
        return []
    separator = _separator(text)
    return [name.strip().strip('"') for name in text.split(separator)]


def _separator(header: str) -> str:
    return max("\t,;", key=header.count)


def table_batches(path: Path, convert: Callable[[pa.Table], pa.Table]) -> Iterator[pa.Table]:
    """Read and convert a table batch by batch; errors name the file.

    The columns of CSV are texts, empty ones null.
    """
    import pyarrow as pa

    try:
        for batch in _batches(path):
            if (twice := first_duplicate(batch.schema.names)) is not None:
                raise DataError(f"the column {twice!r} occurs twice")
            yield convert(pa.Table.from_batches([batch]))
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: {error}") from None


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with open_bytes(path) as stream:
        head = stream.peek(1 << 20)
        if head.startswith(b"PAR1"):
            import pyarrow.parquet as pq

            yield from pq.ParquetFile(path).iter_batches()
        elif head.startswith(b"ARROW1"):
            file = pa.ipc.open_file(pa.memory_map(str(path)))
            yield from (file.get_batch(i) for i in range(file.num_record_batches))
        else:
            yield from _csv_batches(stream, head)


def _csv_batches(stream: Any, head: bytes) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.csv as pc

    names = header_of(head)
    if not names:
        raise DataError("the first line must hold the names of the columns")
    if (twice := first_duplicate(names)) is not None:
        raise DataError(f"the column {twice!r} occurs twice")
    text = head.split(b"\n", 1)[0].decode()
    reader = pc.open_csv(
        pa.PythonFile(stream, mode="r"),
        pc.ReadOptions(block_size=_BLOCK_BYTES, column_names=names, skip_rows=1),
        pc.ParseOptions(delimiter=_separator(text), newlines_in_values=True),
        pc.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            null_values=[""],
            quoted_strings_can_be_null=True,
        ),
    )
    yield from reader


def column_named(names: Sequence[str], given: str | None, usual: Sequence[str], what: str) -> str:
    """Return the column that the caller named, or the first of the usual names."""
    found = optional_column(names, given, usual)
    if found is None:
        raise DataError(
            f"no column of the {what} (such as {', '.join(usual[:4])}) among "
            f"{', '.join(map(repr, names[:20]))}: name it with {what}="
        )
    return found


def optional_column(names: Sequence[str], given: str | None, usual: Sequence[str]) -> str | None:
    """Return the column that the caller named, or the first of the usual names, or None."""
    if given is not None:
        if given not in names:
            near = difflib.get_close_matches(given, names, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise DataError(
                f"there is no column {given!r}{hint}: there are {', '.join(map(repr, names[:20]))}"
            )
        return given
    lower = {name.lower(): name for name in reversed(names)}
    return next((lower[name] for name in usual if name in lower), None)


def as_ids(column: Any, what: str) -> Any:
    """Return query or document ids as texts; a missing one is an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        whole = column.cast(pa.int64(), safe=False)
        if not pc.all(pc.equal(whole.cast(column.type), column)).as_py():
            raise DataError(f"the column of the {what} holds fractional numbers")
        column = whole
    texts = column.cast(pa.large_string())
    if texts.null_count:
        row = pc.index(pc.is_null(texts), True).as_py()
        raise DataError(f"the {what} is missing in row {row} of its batch")
    return texts


def as_numbers(column: Any, name: str) -> Any:
    """Return a column as float64; a text that is no number is an error that shows it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        text = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.is_in(text, pa.array(["NaN", "nan", "NULL", "NA", ""])), None, text)
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid as error:
        raise DataError(f"the column {name!r} holds something else than numbers: {error}") from None
