"""Arrow bodies: an IPC stream of record batches, a column per feature, and one of query ids.

Arrow trusts much of what a stream says. Here nothing is: compressed buffers, which can grow without
limit, are refused before they are opened, and every batch is checked in full before it is used.
"""

from __future__ import annotations

import struct
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.arrow_tables import holds_numbers
from rankgrove.models.model import Model
from rankgrove.serving.arrow_message import (
    float_matrix,
    has_foreign_byte_order,
    is_compressed,
)
from rankgrove.serving.category_values import codes_of_column
from rankgrove.serving.documents import (
    RequestDocuments,
    check_rows,
    model_places,
    position_warnings,
    query_codes,
)
from rankgrove.serving.errors import MALFORMED, WRONG, RequestError

CONTENT_TYPE = "application/vnd.apache.arrow.stream"
QUERY_COLUMN = "qid"

# A batch is too small to wait for other threads, and there are other requests for them.
_ON_THIS_THREAD = pa.ipc.IpcReadOptions(use_threads=False)

_FLOATS: dict[int, np.dtype[Any]] = {
    pa.float32().id: np.dtype("f4"),
    pa.float64().id: np.dtype("f8"),
}

# Clients send one schema again and again, and reading it takes longer than reading a small batch.
_CACHED_PLANS, _CACHED_SCHEMA_BYTES = 16, 256 << 10


def read_arrow(body: bytes, model: Model, max_rows: int) -> RequestDocuments:
    """Read the documents of an Arrow IPC stream; null and NaN are missing values."""
    try:
        messages = _messages(body)
        plan = _plan(messages[0], model)
        X = plan.whole_matrix(messages)
        if X is not None:
            check_rows(len(X), max_rows)
            return RequestDocuments(X, warnings=plan.warnings)
        parts, ids, n_rows = [], [], 0
        unknown: Counter[str] = Counter()
        for batch in plan.batches(messages, body):
            n_rows += batch.num_rows
            check_rows(n_rows, max_rows)
            batch.validate(full=True)
            parts.append(plan.matrix(batch, unknown))
            ids.append(plan.query_ids(batch, n_rows - batch.num_rows))
    except (pa.ArrowException, OSError, EOFError, struct.error, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise _malformed(f"{reason:.300}") from None
    X = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.empty((0, plan.width))])
    if plan.query is None:
        return RequestDocuments(X, unknown=unknown, warnings=plan.warnings)
    codes, named = query_codes([query for part in ids for query in part])
    return RequestDocuments(X, QueryGroups.from_qid(codes), named, unknown, plan.warnings)


def _malformed(reason: str) -> RequestError:
    return RequestError(MALFORMED, "arrow", f"the body is not a sound Arrow IPC stream: {reason}")


def _messages(body: bytes) -> list[pa.Message]:
    """Return the messages of one stream, the schema first, none compressed, and nothing else."""
    source = pa.BufferReader(body)
    reader = pa.ipc.MessageReader.open_stream(source)
    messages = []
    while True:
        try:
            message = reader.read_next_message()
        except (StopIteration, EOFError):
            break
        if is_compressed(message.metadata):
            raise RequestError(
                WRONG, "arrow", "the Arrow buffers are compressed: send them uncompressed"
            )
        messages.append(message)
    if not messages or messages[0].type != "schema":
        raise _malformed("it does not begin with a schema")
    if source.tell() != len(body):
        extra = len(body) - source.tell()
        raise _malformed(f"{extra} bytes follow its end (one stream per request)")
    return messages


def _plan(message: pa.Message, model: Model) -> _Plan:
    """Return the plan of a schema; the last ones of a model are cached."""
    key = message.metadata.to_pybytes()
    plans = _plans.setdefault(model, {})
    plan = plans.get(key)
    if plan is None:
        foreign = has_foreign_byte_order(message.metadata)
        plan = _Plan(pa.ipc.read_schema(message), model, foreign)
        if len(key) <= _CACHED_SCHEMA_BYTES:
            with _plans_lock:
                while len(plans) >= _CACHED_PLANS:
                    del plans[next(iter(plans))]
                plans[key] = plan
    return plan


class _Plan:
    """Which columns of a schema are the features of the model, in its order, and the query ids."""

    def __init__(self, schema: pa.Schema, model: Model, foreign_byte_order: bool) -> None:
        names, types = schema.names, schema.types
        own = model.columns.names or ()
        given = QUERY_COLUMN in names and QUERY_COLUMN not in own
        if given and names.count(QUERY_COLUMN) > 1:
            raise RequestError(
                WRONG,
                "queries",
                f"there are {names.count(QUERY_COLUMN)} columns {QUERY_COLUMN!r}: send one",
                field="qid",
                column=QUERY_COLUMN,
            )
        self.schema = schema
        # The stream's reader alone can use dictionary batches and swap bytes.
        self.needs_reader = foreign_byte_order or any(map(_is_nested_or_dictionary, types))
        self.query = names.index(QUERY_COLUMN) if given else None
        features = [j for j in range(len(names)) if j != self.query]
        given_names = [names[j] for j in features]
        places = model_places(model, given_names, "columns")
        self.warnings = position_warnings(model, given_names, "columns")
        self.features = features if places is None else [features[place] for place in places]
        self.width = len(self.features)
        self.all_in_order = self.features == list(range(len(names)))
        # Of floats alone, as usual, no more is asked: looking at many types takes its time.
        kinds = {types[j].id for j in self.features}
        self.categories = model.columns.categories
        self.names = model.columns.all_names
        plain = len(kinds) == 1 and not self.categories
        self.floats = _FLOATS.get(kinds.pop()) if plain else None
        others = set() if self.floats else {t for t in set(types) if not holds_numbers(t)}
        for place, j in enumerate(self.features if others else ()):
            if types[j] in others and place not in self.categories:
                raise RequestError(
                    WRONG,
                    "type",
                    f"column {names[j]!r} holds {types[j]}, not numbers",
                    field="columns",
                    column=names[j],
                )
        if self.query is not None and not _holds_ids(types[self.query]):
            raise RequestError(
                WRONG,
                "type",
                f"column {QUERY_COLUMN!r} holds {types[self.query]}, not integers or texts",
                field="qid",
                column=QUERY_COLUMN,
            )

    def whole_matrix(self, messages: list[pa.Message]) -> npt.NDArray[Any] | None:
        """Return the features of a stream of one batch in place, if no conversion is needed."""
        if self.floats is None or self.needs_reader or not self.all_in_order or len(messages) != 2:
            return None
        return float_matrix(messages[1], self.width, self.floats)

    def batches(self, messages: list[pa.Message], body: bytes) -> Iterable[pa.RecordBatch]:
        """Return the record batches of a stream."""
        if self.needs_reader:
            return (batch for batch in pa.ipc.open_stream(body, options=_ON_THIS_THREAD))
        return (self._batch(message) for message in messages[1:])

    def _batch(self, message: pa.Message) -> pa.RecordBatch:
        if message.type != "record batch":
            raise _malformed(f"a message of type {message.type!r} among the record batches")
        return pa.ipc.read_record_batch(message, self.schema)

    def matrix(self, batch: pa.RecordBatch, unknown: Counter[str]) -> npt.NDArray[Any]:
        """Return the features: float32 if all columns are, else float64; count unknown values."""
        if batch.num_rows == 0 or self.width == 0:
            return np.empty((batch.num_rows, self.width))
        wanted = batch if self.all_in_order else batch.select(self.features)
        if self.categories:
            return self._coded(wanted, unknown)
        if self.floats is None:
            wanted = pa.RecordBatch.from_arrays(
                [_as_float64(column) for column in wanted.columns], wanted.schema.names
            )
        return np.asarray(wanted.to_tensor(null_to_nan=True, row_major=False).to_numpy())

    def _coded(self, batch: pa.RecordBatch, unknown: Counter[str]) -> npt.NDArray[Any]:
        """Return the features, with the codes of the model in categorical columns."""
        X = np.empty((batch.num_rows, self.width))
        for place, name in enumerate(batch.schema.names):
            column, known = batch.column(place), self.categories.get(place)
            if known is None:
                X[:, place] = _as_float64(column).to_numpy(zero_copy_only=False)
            else:
                X[:, place], n_unknown = codes_of_column(column, known, name)
                if n_unknown:
                    unknown[self.names[place]] += n_unknown
        return X

    def query_ids(self, batch: pa.RecordBatch, start: int) -> list[Any]:
        """Return the query ids of a batch."""
        if self.query is None:
            return []
        column = batch.column(self.query)
        if pa.types.is_dictionary(column.type):
            # Each text once, however often it is used: the whole may be far larger than the body.
            texts = [*column.dictionary.to_pylist(), None]
            ids = [texts[-1 if place is None else place] for place in column.indices.to_pylist()]
        else:
            ids = column.to_pylist()
        if None in ids:
            row = start + ids.index(None)
            raise RequestError(
                WRONG, "queries", f"the query id of row {row} is missing", field="qid", row=row
            )
        return ids


def _as_float64(column: pa.Array) -> pa.Array:
    return pc.cast(column, pa.float64(), safe=False)


def _holds_ids(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or kind == pa.string_view()
    )


def _is_nested_or_dictionary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) or pa.types.is_nested(kind))


_plans_lock = threading.Lock()
_plans: WeakKeyDictionary[Model, dict[bytes, _Plan]] = WeakKeyDictionary()
