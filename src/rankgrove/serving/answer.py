"""What a client gets: scores in the order of the request, ranks, or the top of each query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from rankgrove.serving.documents import Documents
from rankgrove.serving.errors import MALFORMED, WRONG, RequestError, shown

_WORDS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Wish:
    """What a request asks for in its address: ``?ranks=true``, ``?top_k=10``."""

    ranks: bool = False
    top_k: int | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Wish:
        """Read the parameters of an address; unknown ones are refused."""
        for name in parameters:
            if name not in ("ranks", "top_k"):
                raise RequestError(
                    MALFORMED,
                    "parameter",
                    f"unknown parameter {shown(name)}: there are ranks and top_k",
                    field=name[:60],
                )
        ranks, top_k = parameters.get("ranks", "false"), parameters.get("top_k")
        if ranks not in _WORDS:
            raise _unfit("ranks", ranks, "true or false")
        if top_k is not None and not (top_k.isascii() and top_k.isdigit() and 0 < len(top_k) < 10):
            raise _unfit("top_k", top_k, "a whole number from 1")
        if top_k is not None and int(top_k) < 1:
            raise _unfit("top_k", top_k, "a whole number from 1")
        return cls(_WORDS[ranks], None if top_k is None else int(top_k))


def _unfit(name: str, value: str, wanted: str) -> RequestError:
    return RequestError(
        MALFORMED,
        "parameter",
        f"{name}={value[:60]} does not fit: give {wanted}",
        field=name,
        value=value[:60],
    )


def check_wish(wish: Wish, documents: Documents) -> None:
    """Refuse to rank documents whose queries are not told."""
    if documents.groups is None and (wish.ranks or wish.top_k is not None):
        asked = "top_k" if wish.top_k is not None else "ranks"
        raise RequestError(
            WRONG,
            "queries",
            f"{asked} ranks the documents of each query: give 'qid' (one id for all rows, or one "
            "per row), or 'group_sizes'",
            field="qid",
        )


def as_json(name: str, scores: npt.NDArray[np.float64], documents: Documents, wish: Wish) -> bytes:
    """Write an answer as JSON."""
    answer: dict[str, Any] = {"model": name}
    groups = documents.groups
    if wish.top_k is not None and groups is not None:
        best = groups.best_first(scores)
        answer["top"] = [
            {
                "qid": query,
                "rows": (rows := best[start : min(end, start + wish.top_k)]).tolist(),
                "scores": scores[rows].tolist(),
            }
            for query, start, end in zip(
                documents.query_ids, groups.offsets[:-1], groups.offsets[1:], strict=True
            )
        ]
        return msgspec.json.encode(answer)
    answer["scores"] = scores.tolist()
    if wish.ranks and groups is not None:
        answer["ranks"] = groups.ranks(scores).tolist()
    return msgspec.json.encode(answer)


def as_arrow(scores: npt.NDArray[np.float64], documents: Documents, wish: Wish) -> bytes:
    """Write an answer as an Arrow stream: ``score``, ``rank``, and ``row`` of the top alone."""
    import pyarrow as pa

    columns: dict[str, npt.NDArray[Any]] = {"score": scores}
    groups = documents.groups
    if groups is not None and (wish.ranks or wish.top_k is not None):
        columns["rank"] = groups.ranks(scores)
        if wish.top_k is not None:
            rows = groups.best_first(scores)
            rows = rows[columns["rank"][rows] <= wish.top_k]
            columns = {"row": rows} | {key: values[rows] for key, values in columns.items()}
    batch = pa.RecordBatch.from_arrays(
        [pa.array(values) for values in columns.values()], list(columns)
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())
