"""JSON bodies: ``{"rows": [[...], ...], "columns": [...], "qid": ..., "group_sizes": [...]}``.

Nearly all of a body are the numbers of its rows, so they are read into a matrix first, without an
object for each (``native/data/json_rows``); msgspec reads the rest. Where that does not do, msgspec
reads all into the types below and says what does not fit; only then is the body looked at once
more, to quote the value.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from rankgrove._native import read_json_rows
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import DataError
from rankgrove.models.model import Model
from rankgrove.serving.documents import Documents, check_rows, model_places, query_codes
from rankgrove.serving.errors import MALFORMED, WRONG, RequestError, shown

_PATH = re.compile(r" - at `\$((?:\.\w+|\[\d+\])*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """What a client may send."""

    rows: list[list[float | None]]
    columns: list[str] | None = None
    qid: int | str | list[int | str] | None = None
    group_sizes: list[int] | None = None


Rows = list[list[float | None]] | npt.NDArray[np.float64]

_DECODER = msgspec.json.Decoder(Body)
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


def read_json(body: bytes, model: Model, max_rows: int) -> Documents:
    """Read the documents of a JSON body; null is a missing value."""
    asked, rows = _decoded(body, model)
    check_rows(len(rows), max_rows)
    groups, ids = _queries(asked, len(rows))
    return Documents(_matrix(rows, asked.columns, model), groups, ids)


def _decoded(body: bytes, model: Model) -> tuple[Body, Rows]:
    plain = read_json_rows(body)
    if plain is not None:
        rows, rest = plain
        with contextlib.suppress(*_UNREADABLE):
            return _DECODER.decode(rest), rows
    try:
        asked = _DECODER.decode(body)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), body, model) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise RequestError(
            MALFORMED, "json", f"the body is not JSON: {error} (NaN is written null)"
        ) from None
    except UnicodeDecodeError as error:
        raise RequestError(MALFORMED, "json", f"the body is not UTF-8: {error.reason}") from None
    _refuse_repetition(body)
    return asked, asked.rows


def _refuse_repetition(body: bytes) -> None:
    """Refuse a field that occurs twice, of which msgspec takes the last."""
    fields = Counter(name for name, _ in json.loads(body, object_pairs_hook=list))
    field, count = fields.most_common(1)[0]
    if count > 1:
        raise RequestError(MALFORMED, "json", f"{field!r} occurs {count} times", field=field)


def _matrix(rows: Rows, names: list[str] | None, model: Model) -> npt.NDArray[np.float64]:
    places = None if names is None else model_places(model, names, "columns")
    width = model.columns.count if names is None else len(names)
    widths = {rows.shape[1]} if isinstance(rows, np.ndarray) else set(map(len, rows))
    if widths - {width}:
        row = next(i for i, values in enumerate(rows) if len(values) != width)
        wanted = f"the model has {width} columns" if names is None else f"'columns' names {width}"
        raise RequestError(
            WRONG,
            "columns",
            f"row {row} has {len(rows[row])} values but {wanted}",
            field="rows",
            row=row,
        )
    matrix = np.asarray(rows, np.float64).reshape(len(rows), width)
    return matrix if places is None else matrix[:, places]


def _queries(asked: Body, n_rows: int) -> tuple[QueryGroups | None, list[Any]]:
    if asked.qid is not None and asked.group_sizes is not None:
        raise RequestError(
            WRONG, "queries", "give either 'qid' or 'group_sizes', not both", field="qid"
        )
    if asked.group_sizes is not None:
        try:
            groups = QueryGroups.from_sizes(np.array(asked.group_sizes or (), np.int64), n_rows)
        except (DataError, OverflowError) as error:
            beyond = isinstance(error, OverflowError)
            reason = "a group size is beyond 64 bits" if beyond else str(error)
            raise RequestError(WRONG, "queries", reason, field="group_sizes") from None
        return groups, list(range(groups.n_queries))
    if asked.qid is None:
        return None, []
    if not isinstance(asked.qid, list):
        return QueryGroups.from_qid(np.zeros(n_rows, np.int64)), [asked.qid] * (n_rows > 0)
    if len(asked.qid) != n_rows:
        raise RequestError(
            WRONG,
            "queries",
            f"'qid' has {len(asked.qid)} entries but there are {n_rows} rows",
            field="qid",
        )
    codes, ids = query_codes(asked.qid)
    return QueryGroups.from_qid(codes), ids


def _misfit(message: str, body: bytes, model: Model) -> RequestError:
    """Say which value of the body has the wrong type, by field, row and column."""
    found = _PATH.search(message)
    steps: list[Any] = [
        name or int(number) for name, number in _STEP.findall(found[1] if found else "")
    ]
    reason = message[: found.start()] if found else message
    if not steps:
        known = ", ".join(Body.__struct_fields__)
        return RequestError(WRONG, "type", f"the body does not fit: {reason}; fields are {known}")
    where: dict[str, Any] = {"field": steps[0]}
    place = f"{steps[0]!r}"
    if len(steps) > 1:
        where["row"] = steps[1]
        place += f", row {steps[1]}"
    value = _value_at(body, steps)
    if len(steps) > 2:
        where["column"] = _column(body, steps[2], model)
        place += f", column {where['column']!r}"
    where["value"] = shown(value)
    text = f"{place}: {where['value']} does not fit: {reason}"
    if steps[0] == "rows" and len(steps) > 2:
        text = f"{place}: {where['value']} is not a finite number (a missing value is null)"
    return RequestError(WRONG, "type", text, **where)


def _column(body: bytes, place: int, model: Model) -> str | int:
    """Name a column as the client does, else as the model does, else by its place."""
    names = _value_at(body, ["columns"]) or model.columns.names
    if isinstance(names, list | tuple) and place < len(names) and isinstance(names[place], str):
        return str(names[place])
    return place


def _value_at(body: bytes, steps: list[Any]) -> Any:
    try:
        value = msgspec.json.decode(body, type=dict[str, msgspec.Raw]).get(steps[0])
        if value is None:
            return None
        value = msgspec.json.decode(value)
        for step in steps[1:]:
            value = value[step]
    except (msgspec.DecodeError, RecursionError, LookupError, TypeError):
        return "a value that cannot be shown"
    return value
