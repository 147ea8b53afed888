"""Feature logs of Vespa: ``summaryfeatures`` and ``matchfeatures`` of its query responses.

Each hit of ``root.children`` has ``fields.summaryfeatures`` or ``fields.matchfeatures``, an object
of numbers by the name of the rank feature. The document id is ``id`` unless ``document=`` names
another field.
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
_LOGS = ("matchfeatures", "summaryfeatures")
_NO_FEATURE = "vespa.summaryFeatures.cached"


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of such a log."""
    return any(b'"%s"' % name.encode() in head for name in _LOGS)


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the features of every hit."""
    return responses.feature_tables(path, options, counts, documents)


def documents(
    response: Mapping[str, Any], options: LogOptions, place: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the id and the logged features of every hit of the response."""
    root = response.get("root")
    if not isinstance(root, dict):
        raise DataError(f"{place}: this is no response of Vespa: it has no root")
    for hit in root.get("children") or []:
        hit = as_object(hit, "a hit", place)
        fields = as_object(hit.get("fields"), "fields", place)
        ids = hit if options.document is None else fields
        yield (
            responses.document_id(ids, options.document or "id", place),
            _features(fields, options.log_name, place),
        )


def _features(fields: Mapping[str, Any], log_name: str | None, place: str) -> dict[str, Any]:
    logs = {name: fields[name] for name in _LOGS if fields.get(name)}
    if log_name is None and len(logs) > 1:
        raise DataError(
            f"{place}: a hit has matchfeatures and summaryfeatures: choose one with log_name= "
            "(--log-name on the command line)"
        )
    chosen = logs.get(log_name) if log_name else next(iter(logs.values()), None)
    features = as_object(chosen, log_name or "matchfeatures", place)
    return {name: value for name, value in features.items() if name != _NO_FEATURE}
