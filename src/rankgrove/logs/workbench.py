"""Judgment lists of OpenSearch's Search Relevance Workbench: ``judgmentRatings`` in JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.errors import DataError
from rankgrove.logs.json_values import json_values
from rankgrove.logs.judgment_rows import JudgmentRows
from rankgrove.logs.options import LogOptions

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS: frozenset[str] = frozenset()


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of such a list."""
    return b'"judgmentRatings"' in head


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the ratings of every query."""
    rows = JudgmentRows(counts)
    for place, value in json_values(path):
        _add_ratings(rows, value, place)
    yield rows.table()


def _add_ratings(rows: JudgmentRows, value: Any, place: str) -> None:
    try:
        for judged in value["judgmentRatings"]:
            for rating in judged["ratings"]:
                rows.add(judged["query"], rating["docId"], rating["rating"], place)
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{place}: judgmentRatings is a list of objects with query and ratings (docId, "
            f"rating): {type(error).__name__}: {error}"
        ) from None
