"""Feature logs of the Elasticsearch and OpenSearch Learning to Rank plugins.

A search with ``ext.ltr_log`` returns, for each hit, ``fields._ltrlog``: a list of logs, each with
the name that its ``log_specs`` gave it and a list of ``{"name": FEATURE, "value": NUMBER}``. A
feature without a value did not match the document: it is null here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.errors import DataError
from rankgrove.logs import responses
from rankgrove.logs.json_values import as_object
from rankgrove.logs.options import LogOptions

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = responses.ACCEPTS | {"log_name"}


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of such a log."""
    return b'"_ltrlog"' in head or head.count(b'"hits"') > 1


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the features of every hit."""
    return responses.feature_tables(path, options, counts, documents)


def documents(
    response: Mapping[str, Any], options: LogOptions, place: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the id and the logged features of every hit of the response."""
    hits = response.get("hits")
    if not isinstance(hits, dict) or not isinstance(hits.get("hits"), list):
        raise DataError(f"{place}: this is no search response: it has no hits.hits")
    for hit in hits["hits"]:
        hit = as_object(hit, "a hit", place)
        yield (
            responses.document_id(hit, options.document or "_id", place),
            _features(hit, options.log_name, place),
        )


def _features(hit: Mapping[str, Any], log_name: str | None, place: str) -> dict[str, Any]:
    logs: dict[str, Any] = {}
    found = as_object(hit.get("fields"), "fields", place).get("_ltrlog") or []
    if not isinstance(found, list):
        raise DataError(f"{place}: _ltrlog must be a list of logs, not {found!r:.60}")
    for entry in found:
        logs.update(as_object(entry, "a log in _ltrlog", place))
    if not logs:
        return {}
    if log_name is None and len(logs) > 1:
        raise DataError(
            f"{place}: there are several logs ({', '.join(map(repr, logs))}): choose one with "
            "log_name= (--log-name on the command line)"
        )
    name = next(iter(logs)) if log_name is None else log_name
    if name not in logs:
        raise DataError(f"{place}: there is no log {name!r}, only {', '.join(map(repr, logs))}")
    try:
        return {feature["name"]: feature.get("value") for feature in logs[name]}
    except (TypeError, KeyError, AttributeError):
        raise DataError(
            f"{place}: the log {name!r} is not a list of names and values: {logs[name]!r:.80}"
        ) from None
