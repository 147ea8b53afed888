"""JSON bodies: ``{"rows": [[...], ...], "columns": [...], "qid": ..., "group_sizes": [...]}``.

Nearly all of a body are the numbers of its rows. They are read into a matrix without the GIL and
without an object for each (``native/data/json_rows``), which also finds what is wrong with them;
msgspec reads the rest.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import msgspec
import numpy as np
import numpy.typing as npt

from rankgrove._native import read_json_rows
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import DataError
from rankgrove.models.model import Model
from rankgrove.serving.category_values import (
    codes_of_values,
    numbers_of_values,
    read_rows,
)
from rankgrove.serving.documents import (
    RequestDocuments,
    check_rows,
    model_places,
    position_warnings,
    query_codes,
)
from rankgrove.serving.errors import MALFORMED, TOO_LARGE, WRONG, RequestError, shown

_PATH = re.compile(r" - at `\$((?:\.\w+|\[\d+\])*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
# What msgspec says about half of a surrogate pair.
_ABOUT_SURROGATES = re.compile("truncated|surrogate")
_LONE_SURROGATE = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2})(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})(\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_SHOWN_BYTES = 64  # of a value, by the native reader


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a JSON body."""

    rows: msgspec.Raw
    columns: list[str] | None = None
    qid: int | str | list[int | str] | None = None
    group_sizes: list[int] | None = None


Problem = tuple[str, int, int, bytes]

_DECODER = msgspec.json.Decoder(Body)


def read_json(body: bytes, model: Model, max_rows: int) -> RequestDocuments:
    """Read the documents of a JSON body; null is a missing value, true is 1, false 0."""
    found = read_json_rows(body, max_rows)
    if found is None:
        _refuse(body)
    rows, rest = found
    if isinstance(rows, tuple):
        _refuse_unread(rows, max_rows)
    if model.columns.categories:
        return _read_values(body, model, max_rows)
    try:
        asked = _DECODER.decode(rest)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        _refuse(body)
    if isinstance(rows, tuple):
        if _is_left_out(rows, asked, model):
            return _read_values(body, model, max_rows)
        raise _problem_of_rows(rows, asked, model)
    groups, ids = _queries(asked, len(rows))
    X = _matrix(rows, asked.columns, model)
    return RequestDocuments(X, groups, ids, warnings=_warnings(asked, model))


def _warnings(asked: Body, model: Model) -> tuple[str, ...]:
    return () if asked.columns is None else position_warnings(model, asked.columns, "columns")


def _is_left_out(problem: Problem, asked: Body, model: Model) -> bool:
    """Whether a value that is no number is in a column that the model does not use."""
    kind, _, column, _ = problem
    if kind != "not a number" or asked.columns is None:
        return False
    places = model_places(model, asked.columns, "columns")
    return places is not None and column not in places


def _read_values(body: bytes, model: Model, max_rows: int) -> RequestDocuments:
    """Read documents with an object per value: some are categories, or in columns left out."""
    try:
        asked = _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        _refuse(body)
    try:
        rows = read_rows(body)
    except msgspec.ValidationError as error:
        column_name = partial(_column_name, names=asked.columns, model=model)
        raise _misfit(str(error), body, column_name) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _not_json(error, body) from None
    check_rows(len(rows), max_rows)
    names = asked.columns
    places = None if names is None else model_places(model, names, "columns")
    width = model.columns.count if names is None else len(names)
    for number, row in enumerate(rows):
        if len(row) != width:
            raise _wrong_width(number, len(row), names, model)
    X = np.empty((len(rows), model.columns.count))
    columns = list(zip(*rows, strict=True)) if rows else [()] * width
    unknown = {}
    for j in range(model.columns.count):
        place = j if places is None else places[j]
        name = _column_name(place, names, model)
        known = model.columns.categories.get(j)
        values = columns[place]
        if known is None:
            X[:, j] = numbers_of_values(values, name)
            continue
        X[:, j], n_unknown = codes_of_values(values, known, name)
        if n_unknown:
            unknown[model.columns.all_names[j]] = n_unknown
    groups, ids = _queries(asked, len(rows))
    return RequestDocuments(X, groups, ids, unknown, _warnings(asked, model))


def _refuse_unread(problem: Problem, max_rows: int) -> None:
    """Raise for errors after which the rest cannot be parsed."""
    kind, _, _, text = problem
    if kind == "too many rows":
        check_rows(max_rows + 1, max_rows)
    field = text.decode(errors="replace")[:60]
    if kind == "too many entries":
        raise RequestError(TOO_LARGE, "rows", f"{field!r} has too many entries", field=field)
    if kind == "repeated":
        raise RequestError(MALFORMED, "json", f"{field!r} occurs more than once", field=field)


def _refuse(body: bytes) -> NoReturn:
    """Raise the error of a body outside of its rows."""
    try:
        _DECODER.decode(body)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), body) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _not_json(error, body) from None
    raise RequestError(MALFORMED, "json", "the body is not an object with 'rows'")


def _not_json(error: Exception, body: bytes) -> RequestError:
    if isinstance(error, UnicodeDecodeError):
        return RequestError(MALFORMED, "json", f"the body is not UTF-8: {error.reason}")
    if _ABOUT_SURROGATES.search(str(error)) and (half := _LONE_SURROGATE.search(body)):
        code = (half[1] or half[2]).decode()
        return RequestError(
            MALFORMED, "json", f"a text of the body holds half of a surrogate pair: {code}"
        )
    return RequestError(MALFORMED, "json", f"the body is not JSON: {error} (NaN is written null)")


def _matrix(
    rows: npt.NDArray[np.float64], names: list[str] | None, model: Model
) -> npt.NDArray[np.float64]:
    places = None if names is None else model_places(model, names, "columns")
    width = model.columns.count if names is None else len(names)
    if len(rows) == 0:
        return np.empty((0, model.columns.count))
    if rows.shape[1] != width:
        raise _wrong_width(0, rows.shape[1], names, model)
    return rows if places is None else rows[:, places]


def _wrong_width(row: int, count: int, names: list[str] | None, model: Model) -> RequestError:
    wanted = (
        f"the model has {model.columns.count} columns"
        if names is None
        else f"'columns' names {len(names)}"
    )
    return RequestError(
        WRONG, "columns", f"row {row} has {count} values but {wanted}", field="rows", row=row
    )


def _problem_of_rows(problem: Problem, asked: Body, model: Model) -> RequestError:
    """Return the error that the native reader found in the rows."""
    kind, row, column, token = problem
    if kind == "ragged":
        width = model.columns.count if asked.columns is None else len(asked.columns)
        first = int(token)
        wrong = (row, column) if first == width else (0, first)
        return _wrong_width(*wrong, asked.columns, model)
    if kind == "not rows" and row < 0:
        return RequestError(
            WRONG, "type", f"'rows': expected an array, got {_quoted(token)}", field="rows"
        )
    if kind == "not rows" and _is_json(token):
        return RequestError(
            WRONG,
            "type",
            f"'rows', row {row}: expected an array, got {_quoted(token)}",
            field="rows",
            row=row,
            value=_quoted(token),
        )
    name = _column_name(column, asked.columns, model)
    if kind == "not a number" and _is_json(token):
        value = _quoted(token)
        return RequestError(
            WRONG,
            "type",
            f"'rows', row {row}, column {name!r}: {value} is not a finite number (a missing "
            "value is null)",
            field="rows",
            row=row,
            column=name,
            value=value,
        )
    return RequestError(
        MALFORMED,
        "json",
        f"the body is not JSON at 'rows', row {row}, column {name!r} (NaN is written null)",
        field="rows",
        row=row,
    )


def _is_json(token: bytes) -> bool:
    """Whether the beginning of a value could be JSON; NaN and Infinity could not."""
    if token[:1] in b'"[{' and len(token) == _SHOWN_BYTES:
        return True
    try:
        json.loads(token, parse_constant=int)
    except (ValueError, RecursionError):
        return False
    return True


def _quoted(token: bytes) -> str:
    """Return a value as an error quotes it."""
    if token[:1] == b'"':
        with contextlib.suppress(ValueError):  # it was cut
            return shown(json.loads(token))
    return token.decode(errors="replace")[:60]


def _column_name(place: int, names: list[str] | None, model: Model) -> str | int:
    """Name a column as the client does, else as the model does, else by its place."""
    known = names or model.columns.names or ()
    return known[place] if place < len(known) else place


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


def _misfit(
    message: str, body: bytes, column_name: Callable[[int], str | int] = int
) -> RequestError:
    """Return the error of a value that has the wrong type, by the place that msgspec reports."""
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
    if len(steps) > 2:
        where["column"] = column_name(steps[2])
        place += f", column {where['column']!r}"
    where["value"] = _shown_at(body, steps)
    return RequestError(WRONG, "type", f"{place}: {where['value']} does not fit: {reason}", **where)


def _shown_at(body: bytes, steps: list[Any]) -> str:
    """Return the value at a place of the body as an error quotes it."""
    try:
        value = msgspec.json.decode(body, type=dict[str, msgspec.Raw])[steps[0]]
        for step in steps[1:]:
            value = msgspec.json.decode(value, type=list[msgspec.Raw])[step]
    except (msgspec.DecodeError, RecursionError, LookupError):
        return "a value that cannot be shown"
    try:
        return shown(msgspec.json.decode(value))
    except (msgspec.DecodeError, RecursionError):  # such as a number beyond float64
        return _quoted(bytes(value))
