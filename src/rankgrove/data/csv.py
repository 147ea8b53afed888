"""CSV and TSV files with a header line, also compressed.

The separator is a tab for .tsv; else it is whichever of comma, semicolon and tab the header holds
most. Empty fields, NA, NULL and NaN are missing values. Query ids become integers if all are plain
integers, otherwise they stay text.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from rankgrove.data.arrow import ACCEPTS as ARROW_ACCEPTS
from rankgrove.data.arrow import from_columns, naming
from rankgrove.data.compression import DecompressedStream, compression_of
from rankgrove.data.dataset import Dataset
from rankgrove.data.options import LoadOptions
from rankgrove.data.table_columns import find_columns
from rankgrove.errors import DataError

ACCEPTS = ARROW_ACCEPTS
_MISSING = ["", "NA", "na", "N/A", "n/a", "NULL", "null", "Null", "NaN", "nan", "NAN"]
_HEADER_BYTES = 4 << 20


def read_csv(path: Path, options: LoadOptions) -> Dataset:
    """Read a CSV or TSV file."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with naming(path):
        compression = compression_of(path)
        names, separator = _header(path, compression)
        columns = find_columns(names, options)
        types = dict.fromkeys(columns.features, pa.float64())
        for name in (columns.label, columns.weight):
            if name is not None:
                types[name] = pa.float64()
        for name in (columns.query, columns.doc_id, columns.comment):
            if name is not None:
                types[name] = pa.large_string()
        convert = arrow_csv.ConvertOptions(
            column_types=types, null_values=_MISSING, include_columns=list(types)
        )
        try:
            with _opened(path, compression) as stream:
                table = arrow_csv.read_csv(
                    stream,
                    parse_options=arrow_csv.ParseOptions(delimiter=separator),
                    convert_options=convert,
                )
        except pa.ArrowInvalid as error:
            raise DataError(_with_column_name(str(error), names)) from None
        if columns.query is not None:
            place = table.column_names.index(columns.query)
            table = table.set_column(place, columns.query, _typed_ids(table.column(place)))
        return from_columns(table, columns, options, str(path))


def _header(path: Path, compression: str | None) -> tuple[list[str], str]:
    """Column names of the first line, and the separator."""
    if compression is None:
        with path.open("rb") as file:
            head = file.read(_HEADER_BYTES)
    else:
        with DecompressedStream(path, compression) as stream:
            head = stream.read(_HEADER_BYTES)
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].rstrip(b"\r")
    if not line.strip():
        raise DataError("the file is empty" if not head else "the first line holds no column names")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise DataError(f"line 1 is not UTF-8 text: {line[:40]!r}") from None
    separator = "\t"
    if ".tsv" not in path.suffixes:
        separator = max(",;\t", key=text.count)
    try:
        names = next(csv.reader([text], delimiter=separator))
    except csv.Error as error:
        raise DataError(f"line 1: {error}") from None
    if all(_is_number(name) for name in names):
        raise DataError(f"line 1 must hold the names of the columns, not numbers: {text[:40]!r}")
    return names, separator


def _with_column_name(message: str, names: list[str]) -> str:
    """Put the name of the column into a message of the parser, which counts columns."""
    return re.sub(
        r"In CSV column #(\d+): CSV conversion error to double",
        lambda match: f"column {names[int(match[1])]!r} must hold numbers",
        message,
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip() == ""
    return True


def _opened(path: Path, compression: str | None) -> Any:
    import pyarrow as pa

    if compression is None:
        return pa.memory_map(str(path))
    return pa.PythonFile(DecompressedStream(path, compression), mode="r")


def _typed_ids(ids: Any) -> Any:
    """Integers if every id is the plain text of one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.equal(ids, "")
    if pc.any(empty).as_py():
        raise DataError(f"the query id is missing in row {pc.index(empty, True).as_py()}")
    if pc.all(pc.match_substring_regex(ids, r"^(0|-?[1-9][0-9]{0,17})$")).as_py():
        return ids.cast(pa.int64())
    return ids
