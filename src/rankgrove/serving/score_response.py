"""The response to a score request: scores in its order, ranks, or the top of each query."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from rankgrove.serving.documents import RequestDocuments
from rankgrove.serving.errors import MALFORMED, WRONG, RequestError, shown

if TYPE_CHECKING:
    import pyarrow as pa

Scores = npt.NDArray[np.float64]

_WORDS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class ScoreOptions:
    """Query parameters of a request: ``?ranks=true``, ``?top_k=10``."""

    ranks: bool = False
    top_k: int | None = None

    @classmethod
    def from_query(cls, query: str) -> ScoreOptions:
        """Read the query of a URL; unknown and repeated parameters are refused."""
        if not query:
            return _NO_OPTIONS
        parameters: dict[str, str] = {}
        for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True):
            if name not in ("ranks", "top_k"):
                raise RequestError(
                    MALFORMED,
                    "parameter",
                    f"unknown parameter {shown(name)}: there are ranks and top_k",
                    field=name[:60],
                )
            if name in parameters:
                raise RequestError(
                    MALFORMED, "parameter", f"{name} is given more than once", field=name
                )
            parameters[name] = value
        ranks, top_k = parameters.get("ranks", "false"), parameters.get("top_k")
        if ranks not in _WORDS:
            raise _unfit("ranks", ranks, "true or false")
        if top_k is not None and not (top_k.isascii() and top_k.isdigit() and 0 < len(top_k) < 10):
            raise _unfit("top_k", top_k, "a whole number from 1")
        if top_k is not None and int(top_k) < 1:
            raise _unfit("top_k", top_k, "a whole number from 1")
        return cls(_WORDS[ranks], None if top_k is None else int(top_k))


_NO_OPTIONS = ScoreOptions()


def _unfit(name: str, value: str, wanted: str) -> RequestError:
    return RequestError(
        MALFORMED,
        "parameter",
        f"{name}={value[:60]} does not fit: give {wanted}",
        field=name,
        value=value[:60],
    )


def check_options(options: ScoreOptions, documents: RequestDocuments) -> None:
    """Refuse to rank documents without queries."""
    if documents.groups is None and (options.ranks or options.top_k is not None):
        asked = "top_k" if options.top_k is not None else "ranks"
        raise RequestError(
            WRONG,
            "queries",
            f"{asked} ranks the documents of each query: give 'qid' (one id for all rows, or one "
            "per row), or 'group_sizes'",
            field="qid",
        )


def as_json(name: str, scores: Scores, documents: RequestDocuments, options: ScoreOptions) -> bytes:
    """Write a response as JSON."""
    answer: dict[str, Any] = {"model": name}
    if documents.unknown:
        answer["unknown_categories"] = documents.unknown
    if documents.warnings:
        answer["warnings"] = documents.warnings
    groups = documents.groups
    if options.top_k is not None and groups is not None:
        best = groups.best_first(scores)
        answer["top"] = [
            {
                "qid": query,
                "rows": (rows := best[start : min(end, start + options.top_k)]).tolist(),
                "scores": scores[rows].tolist(),
            }
            for query, start, end in zip(
                documents.query_ids, groups.offsets[:-1], groups.offsets[1:], strict=True
            )
        ]
        return msgspec.json.encode(answer)
    answer["scores"] = scores.tolist()
    if options.ranks and groups is not None:
        answer["ranks"] = groups.ranks(scores).tolist()
    return msgspec.json.encode(answer)


def as_arrow(scores: Scores, documents: RequestDocuments, options: ScoreOptions) -> bytes:
    """Write a response as an Arrow stream: ``score``, ``rank``, and ``row`` of the top alone."""
    import pyarrow as pa

    columns: dict[str, npt.NDArray[Any]] = {"score": scores}
    groups = documents.groups
    if groups is not None and (options.ranks or options.top_k is not None):
        columns["rank"] = groups.ranks(scores)
        if options.top_k is not None:
            rows = groups.best_first(scores)
            rows = rows[columns["rank"][rows] <= options.top_k]
            columns = {"row": rows} | {key: values[rows] for key, values in columns.items()}
    arrays = [_arrow_array(values) for values in columns.values()]
    batch = pa.RecordBatch.from_arrays(arrays, list(columns))
    notes = {"unknown_categories": documents.unknown, "warnings": documents.warnings}
    metadata = {name: msgspec.json.encode(note) for name, note in notes.items() if note}
    if metadata:
        batch = batch.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _arrow_array(values: npt.NDArray[Any]) -> pa.Array:
    """Return an Arrow array of the values. (``pa.array`` imports pandas, which takes its time.)"""
    import pyarrow as pa

    kind = pa.from_numpy_dtype(values.dtype)
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [None, buffer])
