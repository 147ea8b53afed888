"""Relevance judgments of TREC (qrels): ``TOPIC ITERATION DOCUMENT GRADE``.

``queries`` gives the texts of topics, where features are logged under the text of the query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rankgrove._addresses import FilePath
from rankgrove.errors import DataError
from rankgrove.logs.judgment_rows import JudgmentRows
from rankgrove.logs.options import LogOptions
from rankgrove.logs.text_lines import text_lines

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"queries"})
_ROWS_PER_TABLE = 100_000


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of such judgments."""
    return re.match(rb"\S+[ \t]+(0|Q0)[ \t]+\S+[ \t]+-?\d+[ \t]*\r?(\n|$)", head) is not None


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the judgments line by line."""
    texts = options.queries
    if texts is not None and not isinstance(texts, Mapping):
        raise ValueError("queries must map the topics of qrels to their texts")
    rows = JudgmentRows(counts)
    for place, line in text_lines(path):
        fields = line.split()
        if len(fields) != 4:
            raise DataError(f"{place}: {line[:60]!r} is not 'TOPIC ITERATION DOCUMENT GRADE'")
        topic, _, document, grade = fields
        if texts is not None and topic not in texts:
            raise DataError(f"{place}: queries has no text for the topic {topic!r}")
        rows.add(topic if texts is None else texts[topic], document, grade, place)
        if len(rows) >= _ROWS_PER_TABLE:
            yield rows.table()
            rows = JudgmentRows(counts)
    yield rows.table()
