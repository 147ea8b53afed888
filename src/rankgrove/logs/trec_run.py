"""Runs of TREC: ``TOPIC Q0 DOCUMENT RANK SCORE TAG``, one retrieved document per line.

As trec_eval does, the score decides the order; the rank is not read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.data.reading.numerals import float_of
from rankgrove.errors import DataError
from rankgrove.logs.options import LogOptions
from rankgrove.logs.text_lines import text_lines

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS: frozenset[str] = frozenset()
_ROWS_PER_TABLE = 100_000
_LINE = re.compile(rb"\S+[ \t]+\S+[ \t]+\S+[ \t]+\d+[ \t]+\S+[ \t]+\S+[ \t]*\r?(\n|$)")


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of a run."""
    return _LINE.match(head) is not None


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the retrieved documents line by line."""
    rows: list[tuple[str, str, float]] = []
    for place, line in text_lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise DataError(f"{place}: {line[:60]!r} is not 'TOPIC Q0 DOCUMENT RANK SCORE TAG'")
        rows.append((fields[0], fields[2], _score(fields[4], place)))
        if len(rows) >= _ROWS_PER_TABLE:
            yield _table(rows)
            rows = []
    yield _table(rows)


def _score(text: str, place: str) -> float:
    try:
        score = float_of(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise DataError(f"{place}: the score {text!r} is not a finite number")
    return score


def _table(rows: list[tuple[str, str, float]]) -> pa.Table:
    import pyarrow as pa

    columns: list[Any] = list(zip(*rows, strict=True)) or [(), (), ()]
    types = (pa.large_string(), pa.large_string(), pa.float64())
    arrays = [pa.array(column, type) for column, type in zip(columns, types, strict=True)]
    return pa.table(arrays, names=["query", "document", "score"])


def run_lines(
    queries: Iterable[Any], documents: Iterable[Any], ranks: Iterable[int], scores: Any, tag: str
) -> bytes:
    """Return lines of a run; each score reads back as the same float64."""
    rows = zip(queries, documents, ranks, scores.tolist(), strict=True)
    return "".join(f"{q} Q0 {d} {r} {s!r} {tag}\n" for q, d, r, s in rows).encode()


def check_id(value: Any, what: str) -> None:
    """Refuse an id that a line of a run cannot hold."""
    if value is None or not str(value) or re.search(r"\s", str(value)):
        raise DataError(
            f"the {what} {value!r} cannot be written as a TREC run, which separates by blanks: "
            "write CSV or Parquet"
        )
