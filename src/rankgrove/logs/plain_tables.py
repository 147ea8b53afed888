"""Plain tables (CSV, TSV, Parquet, Arrow) in batches, and their columns by conventional names."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.data.core.names import first_duplicate
from rankgrove.data.matrix.arrow_tables import decoded
from rankgrove.data.reading.arrow import parquet_schema
from rankgrove.data.reading.byte_stream import ByteStream, open_bytes
from rankgrove.data.reading.csv_blocks import LineBlock, line_blocks, read_block
from rankgrove.data.reading.paths import readable
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

QUERIES = ("query", "query_text", "user_query", "keywords", "qid", "query_id", "topic")
DOCUMENTS = ("document", "docid", "doc_id", "document_id", "doc", "object_id", "id")
_UNTYPED = b"rankgrove.untyped"  # in the metadata of tables that were read from CSV


def is_untyped(schema: pa.Schema) -> bool:
    """Return whether a table was read from a file without types, in which all columns are texts."""
    return _UNTYPED in (schema.metadata or {})


def is_table(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of Parquet, Arrow, or a CSV file with a header."""
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


class BadValueError(DataError):
    """A value that cannot be used, in a row of the batch that is being converted."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


@dataclass(frozen=True)
class _Batch:
    """Some rows of a table; ``where(row)`` says where a row of the batch is in its file."""

    rows: pa.RecordBatch
    where: Callable[[int], str]


def table_batches(
    path: FilePath, convert: Callable[[pa.Table], pa.Table], categorical: Collection[str] = ()
) -> Iterator[pa.Table]:
    """Read and convert a table batch by batch; errors name the file, and the line or row.

    The columns of CSV are texts, empty ones null; of the ``categorical`` ones, those are null that
    ``load`` takes as missing.
    """
    import pyarrow as pa

    try:
        for batch in _batches(path, categorical):
            if (twice := first_duplicate(batch.rows.schema.names)) is not None:
                raise DataError(f"the column {twice!r} occurs twice")
            try:
                yield convert(pa.Table.from_batches([batch.rows]))
            except BadValueError as error:
                raise DataError(f"{batch.where(error.row)}: {error}") from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: {error}") from None


def _batches(path: FilePath, categorical: Collection[str]) -> Iterator[_Batch]:
    import pyarrow as pa

    with open_bytes(path) as stream:
        head = stream.peek(1 << 20)
        if head.startswith(b"PAR1"):
            import pyarrow.parquet as pq

            with readable(path) as file:
                table = pq.ParquetFile(file)
                metadata = parquet_schema(table).metadata
                batches = (b.replace_schema_metadata(metadata) for b in table.iter_batches())
                yield from _numbered(batches)
        elif head.startswith(b"ARROW1"):
            with readable(path) as file:
                table = pa.ipc.open_file(pa.memory_map(str(file)) if file is path else file)
                yield from _numbered(table.get_batch(i) for i in range(table.num_record_batches))
        else:
            yield from _csv_batches(stream, head, categorical)


def _numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[_Batch]:
    """Return batches whose rows are named by their number in the table, from 0."""
    first = 0
    for batch in batches:
        yield _Batch(batch, partial(_row, first))
        first += batch.num_rows


def _row(first: int, row: int) -> str:
    return f"row {first + row}"


def _csv_batches(stream: ByteStream, head: bytes, categorical: Collection[str]) -> Iterator[_Batch]:
    import pyarrow as pa
    import pyarrow.compute as pc

    names = header_of(head)
    if not names:
        raise DataError("the first line must hold the names of the columns")
    if (twice := first_duplicate(names)) is not None:
        raise DataError(f"the column {twice!r} occurs twice")
    separator = _separator(head.split(b"\n", 1)[0].decode())
    types = dict.fromkeys(names, pa.large_string())
    for block in line_blocks(stream):
        table = read_block(block, names, types, separator, categorical)
        columns = [
            texts if name in categorical else pc.if_else(pc.equal(texts, ""), None, texts)
            for name, texts in zip(names, table.columns, strict=True)
        ]
        first = 0
        for batch in pa.table(columns, names=names, metadata={_UNTYPED: b"1"}).to_batches():
            yield _Batch(batch, partial(_line, block, separator, first))
            first += batch.num_rows


def _line(block: LineBlock, separator: str, first: int, row: int) -> str:
    """Return the line of a row of a batch; ``first`` rows of its block are in earlier batches."""
    text = io.StringIO(bytes(block.text).decode(errors="replace"), newline="")
    reader = csv.reader(text, delimiter=separator)
    begin = 0  # lines before the record that is read
    n_records = -int(block.has_header)
    for record in reader:
        if record:  # no blank line
            if n_records == first + row:
                return f"line {block.lines_before + begin + 1}"
            n_records += 1
        begin = reader.line_num
    return f"row {first + row}"


def column_named(
    names: Sequence[str],
    given: str | None,
    usual: Sequence[str],
    what: str,
    advice: str | None = None,
) -> str:
    """Return the column that the caller named, or the first of the usual names."""
    found = optional_column(names, given, usual)
    if found is None:
        raise DataError(
            f"no column of the {what} (such as {', '.join(map(repr, usual[:4]))}) among "
            f"{', '.join(map(repr, names[:20]))}: {advice or f'name it with {what}='}"
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

    column = decoded(column)
    if pa.types.is_floating(column.type):
        whole = column.cast(pa.int64(), safe=False)
        same = pc.fill_null(pc.equal(whole.cast(column.type), column), True)
        refuse(pc.invert(same), column, f"the {what} is {{}}: an id is a text or a whole number")
        column = whole
    texts = column.cast(pa.large_string())
    refuse(pc.is_null(texts), texts, f"the {what} is missing")
    return texts


def as_numbers(column: Any, name: str) -> Any:
    """Return a column as float64; a text that is no number is an error that shows it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        text = pc.utf8_trim_whitespace(column)
        missing = pa.array(["NaN", "nan", "NULL", "NA", ""], text.type)
        column = pc.if_else(pc.is_in(text, missing), None, text)
        try:
            return column.cast(pa.float64())
        except pa.ArrowInvalid:
            wrong = pa.chunked_array([[not _is_number(text) for text in column.to_pylist()]])
            refuse(wrong, column, f"the column {name!r} holds {{}}, not a number")
            raise
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    try:
        return column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"the column {name!r} holds something else than numbers: {error}") from None


def finite_numbers(column: Any, name: str) -> Any:
    """Return a column as float64; infinite values are errors, missing ones are null."""
    import pyarrow.compute as pc

    numbers = as_numbers(column, name)
    refuse(pc.is_inf(numbers), column, f"the column {name!r} holds {{}}, not a finite number")
    return numbers


def refuse(wrong: Any, column: Any, message: str) -> None:
    """Raise an error for the first row that is wrong; ``{}`` in the message is its value."""
    import pyarrow.compute as pc

    row = pc.index(pc.fill_null(wrong, False), True).as_py()
    if row >= 0:
        value = column[row].as_py()
        shown = "nothing" if value is None else f"{value!r:.60}"
        raise BadValueError(row, message.replace("{}", shown))


def _is_number(text: str | None) -> bool:
    import pyarrow as pa

    try:
        pa.scalar(text, pa.large_string()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
