"""Readers of search logs by kind and format.

A format is one module with three names, and one line in ``FORMATS`` (or a call of
``register_log_format``):

- ``ACCEPTS``: the options (``LogOptions``) that it uses;
- ``recognises(head, path)``: whether a file that begins with these bytes is of this format;
- ``read(path, options, counts)``: an iterator of Arrow tables; what is left out is counted.
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rankgrove._addresses import FilePath, file_path, printable
from rankgrove._counts import counted
from rankgrove.data.reading.byte_stream import open_bytes
from rankgrove.errors import DataError
from rankgrove.logs.options import LogOptions, log_options

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["judgments", "features", "impressions", "runs"]
HEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class LogFormat:
    """A format of logs: its name, its kind, and the module that reads it."""

    name: str
    kind: Kind
    module: str


_PACKAGE = "rankgrove.logs"
# Formats are tried in this order where none is named: tables of any columns come last.
FORMATS = [
    LogFormat("ltr-plugin", "features", f"{_PACKAGE}.ltr_plugin"),
    LogFormat("solr", "features", f"{_PACKAGE}.solr"),
    LogFormat("vespa", "features", f"{_PACKAGE}.vespa"),
    LogFormat("table", "features", f"{_PACKAGE}.feature_table"),
    LogFormat("workbench", "judgments", f"{_PACKAGE}.workbench"),
    LogFormat("rre", "judgments", f"{_PACKAGE}.rre"),
    LogFormat("letor", "judgments", f"{_PACKAGE}.letor_data"),
    LogFormat("o19s", "judgments", f"{_PACKAGE}.o19s"),
    LogFormat("qrels", "judgments", f"{_PACKAGE}.qrels"),
    LogFormat("quepid", "judgments", f"{_PACKAGE}.quepid"),
    LogFormat("table", "judgments", f"{_PACKAGE}.judgment_table"),
    LogFormat("ubi", "impressions", f"{_PACKAGE}.ubi"),
    LogFormat("table", "impressions", f"{_PACKAGE}.impression_table"),
    LogFormat("trec", "runs", f"{_PACKAGE}.trec_run"),
    LogFormat("table", "runs", f"{_PACKAGE}.run_table"),
]


@dataclass(frozen=True)
class LogTable:
    """What was read of a log.

    Attributes
    ----------
    kind : judgments, features, impressions or runs
    table : an Arrow table; its first columns are ``query`` and ``document``
    counts : how many rows were left out or combined, by reason
    source : the files
    """

    kind: Kind
    table: pa.Table
    counts: Counter[str]
    source: str

    def __str__(self) -> str:
        n_queries = self.table.column("query").combine_chunks().unique()
        parts = [
            f"{self.source}: {counted(self.table.num_rows, 'row')}",
            counted(len(n_queries), "query"),
        ]
        counts = [f"; {reason}: {count:,}" for reason, count in self.rows()]
        return "".join([", ".join(parts), *counts])

    __repr__ = __str__

    def rows(self) -> list[tuple[str, int]]:
        """Return the reasons and counts that are not 0."""
        return [(reason, count) for reason, count in self.counts.items() if count]


def register_log_format(format: LogFormat) -> LogFormat:
    """Make a format of your own known to the readers of logs and to the command line."""
    same = [known for known in FORMATS if (known.kind, known.name) == (format.kind, format.name)]
    if same and same[0].module != format.module:
        raise ValueError(
            f"there is already a format {format.name!r} of {format.kind}: choose another name"
        )
    if not same:
        FORMATS.insert(0, format)
    return format


def format_names(kind: Kind) -> list[str]:
    """Return the names of the formats of a kind."""
    return [format.name for format in FORMATS if format.kind == kind]


def accepted_options(kind: Kind) -> set[str]:
    """Return the names of the options that any format of a kind uses."""
    modules = [importlib.import_module(format.module) for format in FORMATS if format.kind == kind]
    return set().union(*(module.ACCEPTS for module in modules))


def read_judgments(source: Any, *, format: str | None = None, **options: Any) -> LogTable:
    """Read judgments: columns ``query``, ``document``, ``grade`` and, if there is one, ``weight``.

    Parameters
    ----------
    source : a file (also compressed), a list of files, or a folder
    format : workbench (OpenSearch's Search Relevance Workbench), rre (Rated Ranking Evaluator),
        letor (data with features, and ``#docid = ID`` comments), o19s (``grade qid:1 # document
        query``), qrels (TREC), quepid, or table (CSV, TSV, Parquet, Arrow); by default the content
        decides
    options : see ``LogOptions``, such as ``grade="stars"`` or ``combine="median"``
    """
    return _read_all("judgments", source, format, options)


def read_features(source: Any, *, format: str | None = None, **options: Any) -> LogTable:
    """Read a feature log: columns ``query``, ``document``, and one of float64 per feature.

    A feature that a document's log does not mention is null there. Categorical columns of a table
    (``categorical=[...]``, or by their type) are dictionaries.

    Parameters
    ----------
    source : a file (also compressed), a list of files, or a folder
    format : ltr-plugin (Elasticsearch, OpenSearch), solr, vespa, or table; by default the content
        decides
    options : see ``LogOptions``, such as ``queries=[...]`` for responses that do not hold their
        query
    """
    return _read_all("features", source, format, options)


def read_impressions(source: Any, *, format: str | None = None, **options: Any) -> LogTable:
    """Read impressions: ``query``, ``document``, ``position`` (from 1), ``clicked``, ``session``.

    A session is one result list that was shown. Other columns are kept where the log has them:
    ``time``, ``ranker``, ``propensity``.

    Parameters
    ----------
    source : a file (also compressed), a list of files, or a folder
    format : ubi (OpenSearch's User Behavior Insights) or table; by default the content decides
    options : see ``LogOptions``
    """
    return _read_all("impressions", source, format, options)


def read_run(source: Any, *, format: str | None = None, **options: Any) -> LogTable:
    """Read a run, the scores of retrieved documents: ``query``, ``document``, ``score``.

    Parameters
    ----------
    source : a file (also compressed), a list of files, or a folder
    format : trec (``topic Q0 document rank score tag``) or table; by default the content decides
    options : see ``LogOptions``
    """
    return _read_all("runs", source, format, options)


def _read_all(kind: Kind, source: Any, format: str | None, options: dict[str, Any]) -> LogTable:
    import pyarrow as pa

    counts: Counter[str] = Counter()
    tables = list(log_batches(kind, source, format, log_options(options), counts))
    if not tables or not any(table.num_rows for table in tables):
        raise DataError(f"{_named(source)}: the log holds no {kind}")
    table = pa.concat_tables(tables, promote_options="default")
    return LogTable(kind, table, counts, _named(source))


def log_batches(
    kind: Kind, source: Any, format: str | None, options: LogOptions, counts: Counter[str]
) -> Iterator[pa.Table]:
    """Read the files of a log one after the other, in batches of rows."""
    for path in _paths(source):
        module = importlib.import_module(_format_of(kind, path, format).module)
        refused = [name for name in options.given() if name not in module.ACCEPTS]
        if refused:
            known = ", ".join(f"{name}=" for name in sorted(module.ACCEPTS))
            raise ValueError(
                f"{path}: {refused[0]}= does not apply to this format, which has "
                + (f"the options {known}" if known else "no options")
            )
        yield from module.read(path, options, counts)


def _format_of(kind: Kind, path: FilePath, name: str | None) -> LogFormat:
    formats = [format for format in FORMATS if format.kind == kind]
    with open_bytes(path) as stream:
        head = stream.peek(HEAD_BYTES)
    if not head.strip():
        raise DataError(f"{path}: the file is empty")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: this looks like UTF-16: save it as UTF-8")
    if name is not None:
        for format in formats:
            if format.name == name:
                return format
        raise ValueError(f"format {name!r} of {kind} is not one of {', '.join(format_names(kind))}")
    for format in formats:
        if importlib.import_module(format.module).recognises(head, path):
            return format
    raise DataError(
        f"{path}: this is no known format of {kind} ({', '.join(format_names(kind))}): "
        f"it begins with {head[:60]!r}"
    )


def _paths(source: Any) -> list[FilePath]:
    if isinstance(source, (str, os.PathLike)):
        path = file_path(source)
        if not path.is_dir():
            return [path]
        files: list[FilePath] = [p for p in path.iterdir() if p.is_file() and p.name[0] not in "._"]
        if not files:
            raise DataError(f"{path}: the folder holds no files")
        return sorted(files, key=lambda file: file.name)
    if isinstance(source, (list, tuple)) and source:
        return [path for part in source for path in _paths(part)]
    raise DataError(f"a log is a path or a list of paths, not {source!r:.80}")


def _named(source: Any) -> str:
    paths = _paths(source)
    single = isinstance(source, (str, os.PathLike))
    return printable(str(source)) if single else ", ".join(map(str, paths))
