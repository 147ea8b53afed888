"""Search responses with logged features, of any engine.

A response rarely holds its query. It is found, in this order, in

1. a field beside the response: ``{"query": "shoes", "response": {...}}`` (the field may also be
   called ``keywords``, ``user_query``, ``query_text``, ``qid`` or ``query_id``; ``query=`` names
   another);
2. the response itself, where the engine repeats its request (Solr);
3. ``queries=[...]``: the queries in the order of the responses;
4. the name of the file without its suffix, where the file holds one response.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.errors import DataError
from rankgrove.logs.json_values import json_values
from rankgrove.logs.options import LogOptions

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"query", "document", "queries"})
_QUERY_FIELDS = ("query", "keywords", "user_query", "query_text", "qid", "query_id")
_ROWS_PER_TABLE = 50_000

# The documents of a response: id and features by name.
Documents = Callable[[Mapping[str, Any], LogOptions, str], Iterator[tuple[str, dict[str, Any]]]]


def feature_tables(
    path: FilePath,
    options: LogOptions,
    counts: Counter[str],
    documents: Documents,
    own_query: Callable[[Mapping[str, Any]], str | None] = lambda response: None,
) -> Iterator[pa.Table]:
    """Return the logged features of all documents of all responses of a file."""
    batch = _FeatureRows()
    responses = list_responses(path, options)
    pending: tuple[str, Mapping[str, Any], str | None] | None = None
    number = 0
    for number, (place, response, query) in enumerate(responses, 1):
        query = query or own_query(response) or _listed(options, number - 1, place)
        if query is None and number == 1:
            pending = (place, response, query)  # the name of the file, if it is the only response
            continue
        if query is None or pending is not None:
            raise _no_query(place)
        _add(batch, query, documents(response, options, place), place, counts)
        if len(batch) >= _ROWS_PER_TABLE:
            yield batch.table()
            batch = _FeatureRows()
    if pending is not None:
        place, response, _ = pending
        _add(batch, _stem(path), documents(response, options, place), place, counts)
    if options.queries is not None and number != len(options.queries):
        raise DataError(f"{path}: {number} responses, but {len(options.queries)} queries are given")
    yield batch.table()


def list_responses(
    path: FilePath, options: LogOptions
) -> Iterator[tuple[str, Mapping[str, Any], str | None]]:
    """Return each response with its place and the query beside it."""
    for place, value in json_values(path):
        yield from _unwrapped(place, value, options, None)


def _unwrapped(
    place: str, value: Any, options: LogOptions, query: str | None
) -> Iterator[tuple[str, Mapping[str, Any], str | None]]:
    if not isinstance(value, dict):
        raise DataError(f"{place}: a response must be a JSON object, not {value!r:.60}")
    query = _query_of(value, options, place) or query
    several, inner = value.get("responses"), value.get("response")
    if isinstance(several, list):  # of a multi-search
        for i, part in enumerate(several):
            yield from _unwrapped(f"{place}, response {i}", part, options, query)
    elif isinstance(inner, dict) and "docs" not in inner:
        yield from _unwrapped(place, inner, options, query)
    else:
        if "error" in value and not {"hits", "root", "response"} & value.keys():
            raise DataError(f"{place}: the engine answered with an error: {value['error']!r:.200}")
        yield place, value, query


def _query_of(value: Mapping[str, Any], options: LogOptions, place: str) -> str | None:
    if options.query is not None:
        found = value.get(options.query)
        return None if found is None else _as_id(found, f"{place}, {options.query}")
    for name in _QUERY_FIELDS:
        if isinstance(value.get(name), (str, int)):
            return str(value[name])
    return None


def _listed(options: LogOptions, number: int, place: str) -> str | None:
    queries = options.queries
    if queries is None:
        return None
    if isinstance(queries, (Mapping, str)):
        raise ValueError("queries must be a list: the queries of the responses in their order")
    if number >= len(queries):
        raise DataError(f"{place}: response {number + 1}, but {len(queries)} queries are given")
    return str(queries[number])


def _stem(path: FilePath) -> str:
    return path.name.split(".")[0]


def _no_query(place: str) -> DataError:
    return DataError(
        f"{place}: the response does not say its query: put it beside the response "
        '({"query": "...", "response": {...}}), give the queries in order with queries=[...], '
        "or write one file per query"
    )


def _as_id(value: Any, place: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise DataError(f"{place}: an id must be a text or a whole number, not {value!r:.60}")
    return str(value)


def document_id(hit: Mapping[str, Any], field: str, place: str) -> str:
    """Return the id of a document in a response."""
    if field not in hit:
        raise DataError(
            f"{place}: a document has no field {field!r}: document= names the one with its id; "
            f"there are {', '.join(map(repr, list(hit)[:12])) or 'none'}"
        )
    return _as_id(hit[field], f"{place}, {field}")


def _add(
    batch: _FeatureRows,
    query: str,
    documents: Iterator[tuple[str, dict[str, Any]]],
    place: str,
    counts: Counter[str],
) -> None:
    n_documents = 0
    for document, features in documents:
        n_documents += 1
        if features:
            batch.add(query, document, features, place)
        else:
            counts["documents without logged features"] += 1
    counts["responses without documents"] += n_documents == 0


class _FeatureRows:
    """Rows of a feature log, gathered into one table."""

    def __init__(self) -> None:
        self._ids: tuple[list[str], list[str]] = ([], [])
        self._columns: dict[str, list[float | None]] = {}

    def __len__(self) -> int:
        return len(self._ids[0])

    def add(self, query: str, document: str, features: Mapping[str, Any], place: str) -> None:
        """Add the features of a document."""
        n_rows = len(self)
        for name, value in features.items():
            column = self._columns.setdefault(name, [None] * n_rows)
            column.append(_as_number(value, name, place))
        self._ids[0].append(query)
        self._ids[1].append(document)
        for column in self._columns.values():
            if len(column) == n_rows:
                column.append(None)

    def table(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        import pyarrow as pa

        ids = dict(zip(("query", "document"), self._ids, strict=True))
        for name in ids.keys() & self._columns.keys():
            raise DataError(f"a feature is called {name!r}, which is the name of another column")
        arrays = [pa.array(column, pa.large_string()) for column in ids.values()]
        arrays += [pa.array(column, pa.float64()) for column in self._columns.values()]
        return pa.table(arrays, names=[*ids, *self._columns])


def _as_number(value: Any, name: str, place: str) -> float | None:
    if value is None or isinstance(value, (int, float)):
        return None if value is None or value != value else float(value)
    raise DataError(f"{place}: the feature {name!r} is {value!r:.60}, not a number")
