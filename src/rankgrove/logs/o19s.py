"""Judgment lists as text: ``GRADE qid:ID # DOCUMENT [QUERY]``, as hello-ltr and RankLib have them.

Lines ``# qid:1: QUERY*WEIGHT`` at the beginning give the texts of the query ids; where they are
missing, the text after the document is the query, else the id. Lines with features are LETOR data,
which ``load`` reads.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgrove._addresses import FilePath
from rankgrove.errors import DataError
from rankgrove.logs.judgment_rows import JudgmentRows
from rankgrove.logs.options import LogOptions
from rankgrove.logs.text_lines import text_lines

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS: frozenset[str] = frozenset()
_HEADER = re.compile(r"#\s*qid:\s*([^:\s]+)\s*:\s*(.*?)\s*(?:\*\s*[\d.]+)?\s*")
_JUDGMENT = re.compile(r"\s*(\S+)\s+qid:(\S+)\s+#\s*(\S+)[ \t]*(.*)")
_ROWS_PER_TABLE = 100_000


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of such a list."""
    return re.search(rb"^\s*[-\d.]+\s+qid:\S+\s+#", head, re.MULTILINE) is not None


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the judgments line by line."""
    texts: dict[str, str] = {}
    rows = JudgmentRows(counts)
    for place, line in text_lines(path):
        if header := _HEADER.fullmatch(line):
            texts[header[1]] = header[2]
        elif line.lstrip().startswith("#"):
            continue
        elif judgment := _JUDGMENT.fullmatch(line):
            grade, qid, document, query = judgment.groups()
            rows.add(texts.get(qid) or query.strip() or qid, document, grade, place)
        else:
            raise DataError(f"{place}: {line[:60]!r} is not 'GRADE qid:ID # DOCUMENT [QUERY]'")
        if len(rows) >= _ROWS_PER_TABLE:
            yield rows.table()
            rows = JudgmentRows(counts)
    yield rows.table()
