"""Events of OpenSearch's User Behavior Insights (UBI): impressions and clicks with positions.

A file holds the documents of the indices ``ubi_queries`` and ``ubi_events``, one JSON object per
line; lines of the bulk interface (``{"index": ...}``) are passed over. One value of ``query_id`` is
one result list: the column ``session``. A document of it is clicked if a click event
(``click_actions``, by default click and item_click) has the same ``query_id`` and ``object_id``.

Where a list was shown anew under the same ``query_id`` (after a filter, say), several documents
have one position. By time, the second of them belongs to the session ``ID (2)``, and so on.

UBI leaves open whether ``position.ordinal`` counts from 0 or from 1. Here it is taken to count from
0 for an application if that application logged an ordinal of 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import FilePath
from rankgrove.errors import DataError
from rankgrove.logs.json_values import as_object, json_values
from rankgrove.logs.options import LogOptions

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTS = frozenset({"click_actions"})
_CLICK_ACTIONS = ("click", "item_click")
# query, document, position, clicked, session, time
_Row = tuple[str, str, int, int, str, str]
_BULK = frozenset({"index", "create", "update", "delete"})


def recognises(head: bytes, path: FilePath) -> bool:
    """Return whether the bytes are the beginning of such events."""
    return b'"query_id"' in head and (b'"action_name"' in head or b'"user_query"' in head)


def read(path: FilePath, options: LogOptions, counts: Counter[str]) -> Iterator[pa.Table]:
    """Read all events: a click may come long after its impression."""
    log = _Events(options.click_actions or _CLICK_ACTIONS)
    for place, value in json_values(path):
        if not isinstance(value, dict):
            raise DataError(f"{place}: an event must be a JSON object, not {value!r:.60}")
        if not (len(value) == 1 and value.keys() <= _BULK):
            log.add(as_object(value.get("_source", value), "_source", place), place)
    yield log.table(counts)


class _Events:
    """Impressions and clicks by query and document."""

    def __init__(self, click_actions: Any) -> None:
        self._click_actions = frozenset(click_actions)
        self._texts: dict[str, str] = {}
        self._shown: dict[tuple[str, str], tuple[int, str, str]] = {}
        self._clicks: Counter[tuple[str, str]] = Counter()
        self._from_zero: set[str] = set()
        self._repeated = 0
        self._without_query = 0

    def add(self, event: Mapping[str, Any], place: str) -> None:
        """Take a query or an event."""
        query_id, action = event.get("query_id"), event.get("action_name")
        counts = action == "impression" or action in self._click_actions
        if query_id is None or query_id == "":
            self._without_query += counts
            return
        if not isinstance(query_id, str):
            raise DataError(f"{place}: query_id is {query_id!r:.60}, not a text")
        if isinstance(event.get("user_query"), str):
            self._texts.setdefault(query_id, event["user_query"])
        if not counts:
            return
        attributes = as_object(event.get("event_attributes"), "event_attributes", place)
        document = as_object(attributes.get("object"), "object", place).get("object_id")
        if not isinstance(document, (str, int)):
            raise DataError(f"{place}: an event {action!r} without object_id")
        key = (query_id, str(document))
        if action in self._click_actions:
            self._clicks[key] += 1
            return
        ordinal = as_object(attributes.get("position"), "position", place).get("ordinal")
        if not isinstance(ordinal, int) or isinstance(ordinal, bool) or ordinal < 0:
            raise DataError(
                f"{place}: the ordinal of an impression is {ordinal!r:.60}, not a whole number "
                "from 0"
            )
        application = str(event.get("application"))
        if ordinal == 0:
            self._from_zero.add(application)
        self._repeated += key in self._shown
        self._shown.setdefault(key, (ordinal, application, str(event.get("timestamp", ""))))

    def table(self, counts: Counter[str]) -> pa.Table:
        """Return the impressions; what cannot be used is counted."""
        import pyarrow as pa

        rows: list[_Row] = []
        for (query_id, document), (ordinal, application, time) in self._shown.items():
            if query_id not in self._texts:
                counts["impressions without the text of their query"] += 1
                continue
            position = ordinal + (application in self._from_zero)
            clicked = int((query_id, document) in self._clicks)
            rows.append((self._texts[query_id], document, position, clicked, query_id, time))
        rows = _one_list_per_session(rows, counts)
        counts["events without query_id"] += self._without_query
        counts["repeated impressions"] += self._repeated
        for key, n_clicks in self._clicks.items():
            if key not in self._shown:
                counts["clicks without an impression"] += n_clicks
            elif key[0] not in self._texts:
                counts["clicks without the text of their query"] += n_clicks
            else:
                counts["repeated clicks"] += n_clicks - 1
        texts = pa.large_string()
        types = (texts, texts, pa.int32(), pa.int8(), texts, texts)
        names = ("query", "document", "position", "clicked", "session", "time")
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=names)


def _one_list_per_session(rows: list[_Row], counts: Counter[str]) -> list[_Row]:
    """Divide sessions with several documents at one position, in the order of time."""
    at: Counter[tuple[str, int]] = Counter()
    session_of: dict[int, str] = {}
    for i in sorted(range(len(rows)), key=lambda i: rows[i][5]):
        _, _, position, _, session, _ = rows[i]
        at[session, position] += 1
        number = at[session, position]
        session_of[i] = session if number == 1 else f"{session} ({number})"
    counts["lists shown anew under the same query_id"] += len(
        {session for i, session in session_of.items() if session != rows[i][4]}
    )
    return [(*row[:4], session_of[i], row[5]) for i, row in enumerate(rows)]
