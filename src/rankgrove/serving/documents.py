"""The documents of one request, in the columns of the requested model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.names import numbering
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import DataError
from rankgrove.models.model import Model
from rankgrove.serving.errors import TOO_LARGE, WRONG, RequestError


@dataclass(frozen=True)
class RequestDocuments:
    """Checked documents.

    Attributes
    ----------
    X : a row per document, in the order of the request; the columns of the model
    groups : the queries, None if the request does not tell them
    query_ids : the id of each query as the client wrote it, in order of first appearance
    unknown : by column, the number of values that are categories which the model does not know
    warnings : what the client should know about how the documents were taken
    """

    X: npt.NDArray[Any]
    groups: QueryGroups | None = None
    query_ids: Sequence[Any] = ()
    unknown: Mapping[str, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()


def query_codes(ids: Sequence[int | str]) -> tuple[npt.NDArray[np.int64], list[int | str]]:
    """Number query ids by first appearance, and return each once; 1 and "1" are two queries."""
    numbers: dict[int | str, int] = {}
    codes = [numbers.setdefault(query, len(numbers)) for query in ids]
    return np.array(codes, np.int64), list(numbers)


def model_places(model: Model, names: Sequence[str], field: str) -> list[int] | None:
    """Return the positions of the model's columns among the names; None if the order is equal."""
    try:
        places = model.columns.places(names, f"{field!r} of the request")
    except DataError as error:
        twice = [name for name, count in Counter(names).items() if count > 1]
        wrong = twice or sorted(set(model.columns.names or ()) - set(names))
        where = {"column": wrong[0]} if wrong else {}
        raise RequestError(WRONG, "columns", str(error), field=field, **where) from None
    if places is None and _numbered_otherwise(model.columns.names, names):
        raise RequestError(
            WRONG,
            "columns",
            f"{field!r} numbers the columns in another order ({', '.join(map(repr, names[:3]))}, "
            f"...) than the model: name them as it does ({model.columns.all_names[0]!r}, ...)",
            field=field,
            column=names[0],
        )
    if places is None and len(names) != model.columns.count:
        raise RequestError(
            WRONG,
            "columns",
            f"{field!r} names {len(names)} columns but the model has {model.columns.count}",
            field=field,
        )
    return places


def position_warnings(model: Model, names: Sequence[str], field: str) -> tuple[str, ...]:
    """Return a warning if only one side has real names, so that columns are matched by position."""
    own = model.columns.names
    is_real, own_is_real = numbering(names) is None, own is not None and numbering(own) is None
    if not names or is_real == own_is_real:
        return ()
    shown = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
    if is_real:
        return (
            f"{field!r} has names ({shown}), the model has none: they are taken in their order",
        )
    if not set(names).isdisjoint(own or ()):
        return ()
    return (
        f"{field!r} only numbers the columns ({shown}), the model has names: they are taken in "
        "their order",
    )


def _numbered_otherwise(own: Sequence[str] | None, names: Sequence[str]) -> bool:
    """Whether names number columns, but not as the model does nor in order: 3, 1, 2."""
    return (
        own is not None
        and numbering(own) is not None
        and tuple(names) != tuple(own)
        and len(names) > 0
        and numbering(names) is None
        and all(name.removeprefix("f").isdecimal() for name in names)
    )


def check_rows(n_rows: int, max_rows: int) -> None:
    """Refuse more rows than allowed."""
    if n_rows > max_rows:
        raise RequestError(
            TOO_LARGE, "rows", f"more than {max_rows} documents in one request", field="rows"
        )


def check_documents(documents: RequestDocuments, model: Model, max_rows: int) -> None:
    """Refuse documents without queries where the model needs them, and work beyond the limit."""
    n_rows = len(documents.X)
    if documents.groups is None and model.needs_queries:
        raise RequestError(
            WRONG,
            "queries",
            "this model scores a document against the others of its query: give 'qid' (one id "
            "for all rows, or one per row), or 'group_sizes'",
            field="qid",
        )
    work = model.work(n_rows, documents.groups)
    if work > max_rows:
        raise RequestError(
            TOO_LARGE,
            "rows",
            f"{n_rows} documents make the model score {work} rows, more than the {max_rows} that "
            "are allowed in one request"
            + (" (it compares all pairs of a query)" if work > n_rows else ""),
            field="rows",
        )
