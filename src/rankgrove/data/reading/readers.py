"""Readers of data files, by name and by suffix.

A format is one module with ``ACCEPTS`` (the options of ``load`` that it understands) and a function
that reads a file, and one line in ``READERS``; or anybody's own, given to ``register_reader``.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass

from rankgrove._addresses import FilePath
from rankgrove.data.reading.byte_stream import COMPRESSED_SUFFIXES
from rankgrove.data.reading.paths import readable
from rankgrove.errors import DataError


@dataclass(frozen=True)
class Reader:
    """A file format: its name, the module that reads it, and its suffixes.

    ``function`` reads a whole file, ``batches`` one that need not fit into memory.
    """

    name: str
    module: str
    function: str
    batches: str | None
    suffixes: tuple[str, ...]
    magic: bytes | None = None


# The first is the default for unknown suffixes.
READERS = [
    Reader(
        "letor",
        "rankgrove.data.reading.letor",
        "read_letor",
        "letor_batches",
        (".txt", ".letor", ".svm", ".libsvm"),
    ),
    Reader(
        "parquet",
        "rankgrove.data.reading.arrow",
        "read_parquet",
        "parquet_row_batches",
        (".parquet", ".pq"),
        b"PAR1",
    ),
    Reader(
        "arrow",
        "rankgrove.data.reading.arrow",
        "read_ipc",
        "ipc_row_batches",
        (".feather", ".arrow", ".ipc"),
        b"ARROW1",
    ),
    Reader("csv", "rankgrove.data.reading.csv", "read_csv", "csv_row_batches", (".csv", ".tsv")),
    Reader("npz", "rankgrove.data.reading.npz", "read_npz", None, (".npz",), b"PK\x03\x04"),
]


_JSON = (".json", ".jsonl", ".ndjson")
_SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def _is_workbook(path: FilePath) -> bool:
    """Return whether an archive is an Excel workbook, whatever its name."""
    try:
        with readable(path) as file, zipfile.ZipFile(file) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False


def register_reader(reader: Reader) -> Reader:
    """Register a file format for ``load`` and the command line."""
    if not isinstance(reader, Reader):
        raise TypeError(f"register_reader takes a Reader, not {reader!r:.60}")
    known = next((known for known in READERS if known.name == reader.name), reader)
    if known.module != reader.module:
        raise ValueError(f"there is already a format {reader.name!r}: choose another name")
    READERS[:] = [*(other for other in READERS if other.name != reader.name), reader]
    return reader


def reader_of(path: FilePath, name: str | None) -> Reader:
    """Return the reader of a file by the given name of a format, or by the suffix."""
    if name is not None:
        for known in READERS:
            if known.name == name:
                return known
        raise ValueError(f"format {name!r} is not one of {', '.join(f.name for f in READERS)}")
    suffix = path.suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        suffix = path.with_suffix("").suffix.lower()
    by_suffix = next((known for known in READERS if suffix in known.suffixes), None)
    if by_suffix is not None or not path.is_file():
        return by_suffix or READERS[0]
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(b"RGROVE"):
        raise DataError(
            f"{path} is a model of rankgrove, not data: rankgrove.load_model (rankgrove info on "
            "the command line) reads it"
        )
    if suffix in _SPREADSHEETS or (head.startswith(b"PK") and _is_workbook(path)):
        raise DataError(
            f"{path} is a spreadsheet, which is not read: save it as CSV, or take the frame of "
            "pandas.read_excel"
        )
    if suffix in _JSON or (suffix not in _SPREADSHEETS and head.lstrip()[:1] in (b"{", b"[")):
        raise DataError(
            f"{path} is JSON, which is no table of features: rankgrove.logs (rankgrove join on the "
            "command line) reads the logs and judgments of search engines"
        )
    by_magic = (known for known in READERS if known.magic and head.startswith(known.magic))
    return next(by_magic, READERS[0])
