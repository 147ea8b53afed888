"""Ratings of the Rated Ranking Evaluator (RRE): topics, query groups, relevant documents.

The query of a group is the placeholder ``$query`` of each of its queries (``query=`` names another
placeholder); a group without queries has its name. ``relevant_documents`` is either
``{"DOC": {"gain": 2}}`` or ``{"2": ["DOC", ...]}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.errors import DataError
from rankgrove.logs.json_values import json_values
from rankgrove.logs.judgment_rows import JudgmentRows
from rankgrove.logs.options import LogOptions

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"query"})


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of such ratings."""
    return b'"query_groups"' in head or b'"relevant_documents"' in head


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the relevant documents of every query."""
    rows = JudgmentRows(counts)
    for place, value in json_values(path):
        _add_topics(rows, value, options.query or "$query", place)
    yield rows.table()


def _add_topics(rows: JudgmentRows, value: Any, field: str, place: str) -> None:
    try:
        for topic in value.get("topics") or [value]:
            for group in topic["query_groups"]:
                _add_group(rows, group, field, place)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{place}: ratings of RRE have topics with query_groups, each with queries and "
            f"relevant_documents: {type(error).__name__}: {error}"
        ) from None


def _add_group(rows: JudgmentRows, group: Mapping[str, Any], field: str, place: str) -> None:
    graded = list(_graded(group["relevant_documents"], place))
    for query in dict.fromkeys(_queries(group, field, place)):
        for document, gain in graded:
            rows.add(query, document, gain, place)


def _queries(group: Mapping[str, Any], field: str, place: str) -> Iterator[str]:
    for query in group.get("queries") or []:
        placeholders = query if isinstance(query, str) else query.get("placeholders") or {}
        if isinstance(placeholders, str):
            yield placeholders
        elif field in placeholders:
            yield placeholders[field]
        else:
            raise DataError(
                f"{place}: a query has no placeholder {field!r}, only "
                f"{', '.join(map(repr, placeholders))}: query= names the right one"
            )
    if not group.get("queries"):
        yield group["name"]


def _graded(relevant: Any, place: str) -> Iterator[tuple[str, Any]]:
    parts = relevant if isinstance(relevant, list) else [relevant]
    for part in parts:
        for key, value in part.items():
            if isinstance(value, list):
                yield from ((document, key) for document in value)
            elif isinstance(value, Mapping):
                yield key, value["gain"]
            else:
                raise DataError(f"{place}: the document {key!r} has {value!r:.60}, not a gain")
