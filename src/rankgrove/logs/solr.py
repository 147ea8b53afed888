"""Feature logs of Solr: the document transformer ``[features]`` of its LTR module.

Each document of ``response.docs`` has a field such as ``"[features]": "tf=2.0,age=0.5"``. The query
is the parameter ``q`` that Solr repeats in ``responseHeader.params``. With Solr's ``sparse`` format
a feature of value 0 is left out, so a feature that is not mentioned is null here; write the log
with ``[features format=dense]`` to have zeros.
"""

from __future__ import annotations

import re
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
_FIELD = "[features]"


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of such a log."""
    return b'"[features]"' in head or (b'"responseHeader"' in head and b'"docs"' in head)


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read the features of every document."""
    return responses.feature_tables(path, options, counts, documents, _query)


def _query(response: Mapping[str, Any]) -> str | None:
    params = (response.get("responseHeader") or {}).get("params") or {}
    query = params.get("q")
    return query if isinstance(query, str) and query not in ("", "*:*") else None


def documents(
    response: Mapping[str, Any], options: LogOptions, place: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the id and the logged features of every document of the response."""
    body = response.get("response")
    if not isinstance(body, dict) or not isinstance(body.get("docs"), list):
        raise DataError(f"{place}: this is no response of Solr: it has no response.docs")
    field = options.log_name or _FIELD
    for document in body["docs"]:
        document = as_object(document, "a document", place)
        yield (
            responses.document_id(document, options.document or "id", place),
            _features(document.get(field), place),
        )


def _features(text: Any, place: str) -> dict[str, Any]:
    if text is None or text == "":
        return {}
    if not isinstance(text, str):
        raise DataError(f"{place}: the features are {text!r:.80}, not a text such as 'tf=2.0'")
    features: dict[str, Any] = {}
    for part in re.split(r"[,;\t ]+", text.strip()):  # comma, or the older formats
        name, separator, value = part.rpartition("=")
        if not separator:
            name, separator, value = part.rpartition(":")
        try:
            features[name] = float(value)
        except ValueError:
            raise DataError(f"{place}: {part!r} is not a feature such as 'tf=2.0'") from None
        if not name:
            raise DataError(f"{place}: {part!r} is not a feature such as 'tf=2.0'")
    return features
