"""CSV and TSV files, with or without a header line, also compressed or from a pipe.

The separator is a tab for .tsv; else it is whichever of comma, semicolon and tab the header holds
most. Blanks around names of columns, and around numbers, do not count. Empty fields, NA, NULL and
NaN are missing values. Query ids become integers if all are plain integers, otherwise they stay
text. A column whose first values all are true or false holds 1 and 0, as in other tables. One whose
first values all are other texts is a feature only if it is categorical; a text among numbers is an
error. Categories are whole numbers or booleans if all are, otherwise texts, with all their blanks;
"NA" in quotes is one, too.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.data.core.categories import MISSING_WORDS
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.numbers import GRADES_HINT
from rankgrove.data.reading.arrow import (
    EXAMPLE,
    Batches,
    from_batches,
    naming,
    resolve_columns,
    row_batches,
)
from rankgrove.data.reading.byte_stream import ByteStream, open_bytes
from rankgrove.data.reading.column_description import apply_description
from rankgrove.data.reading.csv_blocks import (
    DECIMAL_HINT,
    FALSE,
    TRUE,
    LineBlock,
    decimal_hint,
    line_blocks,
    read_block,
    refuse_open_quote,
)
from rankgrove.data.reading.options import LoadOptions, accepted_by
from rankgrove.data.reading.table_columns import TableColumns
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = accepted_by("table", "csv")
_HEAD_BYTES = 4 << 20
_LOOKED_AT_ROWS = 1000
_ROW = re.compile(r"(?<!['\w])row (\d+)\b(?!')")
_TRUTHS = frozenset(TRUE + FALSE)


def read_csv(path: FilePath, options: LoadOptions) -> Dataset:
    """Read a CSV or TSV file, block by block."""
    with csv_batches(path, options) as batches:
        return from_batches(batches, options)


def csv_row_batches(path: FilePath, options: LoadOptions) -> Iterator[Dataset]:
    """Read a CSV or TSV file batch by batch."""
    with csv_batches(path, options) as batches:
        yield from row_batches(batches, options)


@contextmanager
def csv_batches(path: FilePath, options: LoadOptions) -> Iterator[Batches]:
    """Open a CSV or TSV file."""
    import pyarrow as pa

    with naming(path), open_bytes(path) as stream:
        names, separator, rows = _beginning(stream, _has_header(options))
        names, options = _named(names, options)
        found = _schema(names, rows)
        columns = resolve_columns(found, options)
        types = _types(columns, found)
        lines = _RowLines(int(_has_header(options)))

        def batches() -> Iterator[pa.RecordBatch]:
            for block in line_blocks(stream, _has_header(options)):
                try:
                    table = read_block(block, names, types, separator, columns.categorical)
                except DataError as error:
                    raise DataError(f"{error}{_advice(str(error), columns, options)}") from None
                lines.add(block, table.num_rows)
                yield from table.to_batches()

        schema = pa.schema([(name, types[name]) for name in columns.wanted()])
        with lines.named():
            yield Batches(batches(), None, columns, schema, str(path), _typed_ids, untyped=True)


def _advice(message: str, columns: TableColumns, options: LoadOptions) -> str:
    """Return what to do about a text where a column of numbers was expected."""
    if f"column {columns.label!r} must hold numbers" in message:
        return GRADES_HINT
    names = [n for n in columns.features if f"column {n!r} must hold numbers: inv" in message]
    if not names or message.endswith(DECIMAL_HINT):
        return ""
    missing = "; a missing value is an empty field, NA, NaN or NULL"
    if options.like is not None:
        return missing
    shown = shlex.quote(names[0])
    return (
        f"{missing}; ignore={names[:1]} (--ignore {shown} on the command line) leaves the column "
        f"out, categorical={names[:1]} (--categorical {shown} on the command line) takes it as "
        "categories"
    )


class _RowLines:
    """Names rows in errors by their lines, as long as each row is one line."""

    def __init__(self, n_header: int) -> None:
        self._n_header = n_header
        self._one_each = True

    def add(self, block: LineBlock, n_rows: int) -> None:
        """Compare the lines of a block with its rows; there may be blank and broken lines."""
        n_lines = block.text.count(b"\n") + (not block.text.endswith(b"\n"))
        self._one_each &= n_lines == n_rows + block.has_header

    @contextmanager
    def named(self) -> Iterator[None]:
        try:
            yield
        except DataError as error:
            if not self._one_each:
                raise
            raise DataError(_ROW.sub(self._line, str(error))) from None

    def _line(self, row: re.Match[str]) -> str:
        return f"line {int(row[1]) + self._n_header + 1}"


def _has_header(options: LoadOptions) -> bool:
    return options.header and options.columns is None and options.column_description is None


def _named(names: list[str], options: LoadOptions) -> tuple[list[str], LoadOptions]:
    """Return the names of the columns, and options with the roles of a column description."""
    if options.columns is not None and options.column_description is not None:
        raise ValueError("columns and column_description both name the columns: give one of them")
    if options.column_description is not None:
        return apply_description(options.column_description, len(names), options)
    if options.columns is None:
        return names, options
    given = [str(name) for name in options.columns]
    if len(given) != len(names):
        raise DataError(f"columns has {len(given)} names, but the first line {len(names)} fields")
    return given, options


def _beginning(stream: ByteStream, header: bool) -> tuple[list[str], str, list[list[str]]]:
    """Return the column names, the separator, and the fields of the first rows.

    Without a header the columns are numbered.
    """
    head = stream.peek(_HEAD_BYTES)
    whole = len(head) < _HEAD_BYTES
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head.startswith(b"PAR1"):
        raise DataError("this is a Parquet file: format='parquet' (--format parquet) reads it")
    line = head.split(b"\n", 1)[0].rstrip(b"\r")
    if not line.strip():
        raise DataError("the file is empty" if not head else "the first line holds no column names")
    if len(line) >= _HEAD_BYTES - 3:
        raise DataError(f"the first line is longer than {_HEAD_BYTES >> 20} MB")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        utf_16 = line.startswith((b"\xff\xfe", b"\xfe\xff"))
        hint = " (it looks like UTF-16: save it as UTF-8)" if utf_16 else ""
        raise DataError(f"line 1 is not UTF-8 text: {line[:40]!r}{hint}") from None
    separator = "\t" if ".tsv" in stream.path.suffixes else max(",;\t", key=text.count)
    body = head if whole else head[: head.rfind(b"\n") + 1]
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(body.decode(errors="replace")), delimiter=separator):
            rows.append(row)
            if len(rows) > _LOOKED_AT_ROWS:
                break
    except csv.Error as error:
        refuse_open_quote(LineBlock(bytearray(body), 0, header), separator)
        lone = re.search(rb"\r(?!\n)", body) is not None
        reason = "carriage return without newline: save the file with newlines" if lone else error
        raise DataError(f"line {len(rows) + 1}: {reason}") from None
    names = [name.strip() for name in rows[0]]
    if len(names) == 1 and " qid:" in text:
        raise DataError("this looks like LETOR text: format='letor' (--format letor) reads it")
    if len(names) == 1 and "|" in text:
        raise DataError(f"columns are separated by a comma, semicolon or tab, not as {text[:40]!r}")
    if not header:
        return [str(number) for number in range(len(names))], separator, rows
    _refuse_data_as_header(names, text)
    if whole and not any(rows[1:]):
        refuse_open_quote(LineBlock(bytearray(body), 0, header), separator)
        raise DataError("the file holds a header line but no rows")
    return names, separator, rows[1:]


def _refuse_data_as_header(names: list[str], text: str) -> None:
    unnamed = names[:1] == [""] and names.count("") == 1  # the index of a pandas frame
    numbers = [name for name in names[unnamed:] if _is_number(name)]
    plain = [name for name in numbers if name.isdigit()]
    repeated = len(set(numbers)) < len(numbers)
    if set(numbers) == {""} and len(numbers) < len(names) - unnamed:
        raise DataError(
            f"line 1: the field {names.index('', int(unnamed)) + 1} of the names of the columns is "
            "empty; a separator too many at the end of the lines?"
        )
    if len(numbers) == len(names) - unnamed or repeated or len(numbers) > len(plain):
        raise DataError(
            f"line 1 must hold the names of the columns, but looks like data: {text[:40]!r} "
            "(without names: header=False (--no-header on the command line); columns= gives some)"
        )


def _schema(names: list[str], rows: list[list[str]]) -> pa.Schema:
    """Return the column types that the first rows suggest: text, boolean, or maybe number."""
    import pyarrow as pa

    fields = []
    for j, name in enumerate(names):
        values = [row[j].strip() for row in rows if len(row) > j]
        values = [value for value in values if value not in MISSING_WORDS]
        if values and _TRUTHS.issuperset(values):
            fields.append(pa.field(name, pa.bool_()))
            continue
        is_text = bool(values) and not any(_is_number(value) for value in values)
        example = {EXAMPLE: f"{values[0][:40]!r}{decimal_hint(values[0])}"} if is_text else None
        fields.append(pa.field(name, pa.large_string() if is_text else pa.float64(), True, example))
    return pa.schema(fields)


def _types(columns: TableColumns, found: pa.Schema) -> dict[str, pa.DataType]:
    import pyarrow as pa

    types = {}
    for name in (*columns.features, *columns.numbers()):
        if name is not None:
            truths = pa.types.is_boolean(found.field(name).type)
            types[name] = pa.bool_() if truths else pa.float64()
    for name in (*columns.categorical, columns.query, columns.doc_id, columns.comment):
        if name is not None:
            types[name] = pa.large_string()
    return types


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip() == ""
    return True


def _typed_ids(ids: Any) -> Any:
    """Return ids as integers if every id is the plain text of one; empty ones are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.equal(ids, "")
    if pc.any(empty).as_py():
        return pc.if_else(empty, None, ids)
    plain = pc.utf8_trim_whitespace(ids)
    if pc.all(pc.match_substring_regex(plain, r"^(0|-?[1-9][0-9]{0,18})$")).as_py():
        with suppress(pa.ArrowInvalid):  # beyond 64 bits
            return plain.cast(pa.int64())
    return ids
