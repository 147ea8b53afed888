"""Blocks of whole lines of a CSV file, and the Arrow table of each.

Bytes are read in the thread that asks for them. (Arrow's own reader reads ahead in a thread that it
does not wait for: an error could leave it inside Python while Python ends, which ends the process.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgrove.data.core.categories import MISSING_WORDS
from rankgrove.data.reading.byte_stream import ByteStream
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

TRUE, FALSE = ["True", "true", "TRUE"], ["False", "false", "FALSE"]
_BLOCK_BYTES = 4 << 20
_LINE_BYTES = 64 << 20
DECIMAL_HINT = ": a decimal comma? Numbers have a point"
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_MEANT = {
    "double": "numbers",
    "bool": "True or False, as its first rows do",
    "large_string": "UTF-8 text",
}
_INFINITE = r"^\s*[-+]?[iI][nN][fF]([iI][nN][iI][tT][yY])?\s*$"


@dataclass(frozen=True)
class LineBlock:
    """Some whole lines.

    Attributes
    ----------
    lines_before : number of lines of the file before them
    has_header : whether the first line holds the names of the columns
    """

    text: bytearray
    lines_before: int
    has_header: bool


def line_blocks(stream: ByteStream, header: bool = True) -> Iterator[LineBlock]:
    """Yield all lines, some megabytes at a time; a quoted field with line ends stays whole.

    ``header`` says whether the file begins with the names of its columns.
    """
    rest, lines = bytearray(), 0
    while True:
        begun = len(rest)
        text = rest + bytearray(_BLOCK_BYTES)
        got = stream.fill(memoryview(text)[begun:])
        at_end = got < _BLOCK_BYTES
        end = begun + got if at_end else _end_of_lines(text)
        if end == 0 and len(text) > _LINE_BYTES:
            raise DataError(f"line {lines + 1} is longer than {_LINE_BYTES >> 20} MB")
        rest = text[end:]
        del text[end:]
        if text and not text.isspace():
            yield LineBlock(text, lines, header and lines == 0)
        if at_end:
            return
        lines += text.count(b"\n")


def _end_of_lines(text: bytearray) -> int:
    """Return the end of the last line that ends outside quotes."""
    last = end = text.rfind(b"\n") + 1
    while text.count(b'"', 0, end) % 2:
        end = text.rfind(b"\n", 0, text.rfind(b'"', 0, end)) + 1
    return end or last  # a quote inside a field is an ordinary character


def read_block(
    block: LineBlock,
    names: list[str],
    types: dict[str, pa.DataType],
    separator: str,
    categorical: Collection[str] = (),
) -> pa.Table:
    """Return the columns that ``types`` names; an error names the column and the line.

    Of the columns of texts, those that are ``categorical`` may have missing values.
    """
    import pyarrow as pa

    nulls = bool(categorical)
    try:
        table = _parsed(block, names, types, separator, use_threads=True, nulls=nulls)
    except pa.ArrowInvalid:
        refuse_open_quote(block, separator)
        try:
            table = _parsed_apart(block, names, types, separator, nulls=nulls)
        except pa.ArrowInvalid as error:
            raise DataError(_readable(str(error), names, block.lines_before)) from None
    _refuse_swallowed_lines(block, table.num_rows, separator)
    _refuse_overflow(table, block, names, separator)
    texts = [
        name
        for name, kind in types.items()
        if pa.types.is_large_string(kind) and name not in categorical and table[name].null_count
    ]
    if texts:  # a word such as NA, which is an id here
        own = {name: types[name] for name in texts}
        again = _parsed(block, names, own, separator, use_threads=True)
        for name in texts:
            table = table.set_column(table.column_names.index(name), name, again[name])
    return table


def _parsed_apart(
    block: LineBlock,
    names: list[str],
    types: dict[str, pa.DataType],
    separator: str,
    *,
    nulls: bool,
) -> pa.Table:
    """Parse numbers and texts apart, in one thread, which knows the number of a wrong row.

    A quoted "" or "NA" is missing among numbers, but a category among those of texts.
    """
    import pyarrow as pa

    texts = {name: kind for name, kind in types.items() if pa.types.is_large_string(kind)}
    numbers = {name: kind for name, kind in types.items() if name not in texts}
    columns: dict[str, Any] = {}
    for kinds, words in ((numbers, False), (texts, nulls)):
        if kinds:
            table = _parsed(block, names, kinds, separator, use_threads=False, nulls=words)
            columns |= dict(zip(table.column_names, table.columns, strict=True))
    return pa.table({name: columns[name] for name in types})


def _refuse_swallowed_lines(block: LineBlock, n_rows: int, separator: str) -> None:
    """Refuse an open quote, which makes Arrow take all lines that follow for one field.

    Only if rows and lines differ in number is the whole block searched, which takes ten times as
    long as parsing it.
    """
    if b'"' not in block.text:
        return
    lines = block.text.rstrip(b"\r\n")
    n_lines = lines.count(b"\n") + 1 - block.has_header
    refuse_open_quote(block, separator, 0 if n_rows != n_lines else lines.rfind(b"\n") + 1)


def refuse_open_quote(block: LineBlock, separator: str, start: int = 0) -> None:
    """Raise an error if a quoted field has no end; ``start`` is where a line begins."""
    field = re.compile(rb'(?:\A|[%b\r\n])"(?:[^"]+|"")*("?)' % separator.encode())
    for found in field.finditer(block.text[start:]):
        if not found[1]:
            quote = start + found.start() + found[0].index(b'"')
            line = block.lines_before + block.text.count(b"\n", 0, quote) + 1
            raise DataError(f"line {line}: the quote that begins a field is never closed")


def _parsed(
    block: LineBlock,
    names: list[str],
    types: dict[str, pa.DataType],
    separator: str,
    *,
    use_threads: bool,
    nulls: bool = False,
) -> pa.Table:
    """Parse some columns; with ``nulls``, words for missing values are missing in texts, too."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    return arrow_csv.read_csv(
        pa.py_buffer(block.text),
        read_options=arrow_csv.ReadOptions(
            use_threads=use_threads,
            block_size=len(block.text) + 1,
            column_names=names,  # without the blanks that the header may have around them
            skip_rows_after_names=int(block.has_header),
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=separator),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            null_values=_after_blanks(MISSING_WORDS),
            true_values=_after_blanks(TRUE),
            false_values=_after_blanks(FALSE),
            include_columns=list(types),
            strings_can_be_null=nulls,
            quoted_strings_can_be_null=not nulls,
        ),
    )


def _after_blanks(words: list[str]) -> list[str]:
    """Return words with and without a leading blank, which may follow a comma."""
    return [*words, *(f" {word}" for word in words)]


def _refuse_overflow(table: pa.Table, block: LineBlock, names: list[str], separator: str) -> None:
    """Raise an error for a number that is too large, which Arrow reads as an infinite one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_floating(column.type) or not pc.any(pc.is_inf(column)).as_py():
            continue
        texts = _parsed(block, names, {name: pa.large_string()}, separator, use_threads=False)[0]
        infinite = pc.fill_null(pc.is_inf(column), False)
        said = pc.fill_null(pc.match_substring_regex(texts, _INFINITE), False)
        wrong = pc.index(pc.and_not(infinite, said), True).as_py()
        if wrong >= 0:
            raise DataError(
                f"column {name!r} holds a number beyond those of 64 bits: "
                f"{texts[wrong].as_py()[:40]!r} (in or near line {block.lines_before + wrong + 1})"
            )


def decimal_hint(value: str) -> str:
    """Return a hint at what a text that is no number may be."""
    return DECIMAL_HINT if _DECIMAL_COMMA.fullmatch(value) else ""


def _readable(message: str, names: list[str], lines_before: int) -> str:
    """Return the parser's message with the name of the column and the line instead of numbers."""
    invalid = re.search(r"invalid value '(.*)'", message)
    hint = "" if invalid is None else decimal_hint(invalid[1])
    named = re.sub(
        r"In CSV column #(\d+): (Row #\d+: )?CSV conversion error to (double|bool|large_string)",
        lambda found: (
            f"{found[2] or ''}column {names[int(found[1])]!r} must hold {_MEANT[found[3]]}"
        ),
        message,
    )
    return re.sub(r"Row #(\d+)", lambda row: f"line {int(row[1]) + lines_before}", named) + hint
