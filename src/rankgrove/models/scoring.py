"""Score checked input, and scans batch by batch, with a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.conversion import refuse_readings
from rankgrove.data.matrix.streamed import by_rows
from rankgrove.data.ranking_input import RankingInput
from rankgrove.data.scanning.row_batches import Judgments, Piece
from rankgrove.data.scanning.scan import Scan
from rankgrove.errors import DataError
from rankgrove.models.model import Model


def scores(model: Model, data: RankingInput, n_jobs: int | None) -> npt.NDArray[np.float64]:
    """Return the model's scores of the documents; those of a stream are scored block by block."""
    if model.needs_queries:
        return model.scores(np.asarray(data.X), data.groups, n_jobs)
    return by_rows(data.X, lambda X: model.scores(X, None, n_jobs))


@dataclass(frozen=True)
class ScannedScores:
    """Scores of all documents of a scan; queries and labels as far as they were asked for."""

    scores: npt.NDArray[np.float64]
    groups: QueryGroups | None
    y: npt.NDArray[np.float64] | None


def scanned_scores(
    model: Model,
    scan: Scan,
    n_jobs: int | None,
    *,
    queries: bool = False,
    labels: bool = False,
    what: str = "predict",
) -> ScannedScores:
    """Go once through the documents; only scores (and what is asked for) are kept."""
    own = scan.like(model.columns, model.absent, what)
    if not labels:
        own = own.unlabelled(needs_queries=queries or model.needs_queries)
    judgments = Judgments(own.shared_queries) if queries or labels else None
    scores: list[npt.NDArray[np.float64]] = []
    for piece in _whole_queries(own.pieces()) if model.needs_queries else own.pieces():
        refuse_readings(piece.absent, model.absent, what)
        groups = QueryGroups.from_qid(piece.qid) if model.needs_queries else None
        scores.append(model.scores(piece.X, groups, n_jobs))
        if judgments is not None:
            judgments.add(piece)
    if not scores:
        raise DataError(f"{what}: there are no rows")
    found: dict[str, Any] = {} if judgments is None else judgments.finished()
    return ScannedScores(
        np.concatenate(scores),
        QueryGroups(found["offsets"], None, found["ids"]) if found else None,
        found["y"] if labels else None,
    )


def _whole_queries(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Cut the data between queries; the documents of a query must follow one another."""
    waiting: Piece | None = None
    seen: set[Any] = set()

    def complete(piece: Piece) -> Piece:
        for query in np.unique(piece.qid).tolist():
            if query in seen:
                raise DataError(
                    f"{piece.source}: documents of the query {query!r} do not follow one another: "
                    "sort the data by query, or load them into memory"
                )
            seen.add(query)
        return piece

    for piece in pieces:
        whole = piece if waiting is None else _joined(waiting, piece)
        others = np.flatnonzero(whole.qid != whole.qid[-1:])
        end = int(others[-1]) + 1 if len(others) else 0
        if end:
            yield complete(_rows(whole, slice(0, end)))
        waiting = _rows(whole, slice(end, None))
    if waiting is not None and len(waiting.X):
        yield complete(waiting)


def _rows(piece: Piece, rows: slice) -> Piece:
    return replace(piece, X=piece.X[rows], y=piece.y[rows], qid=piece.qid[rows], weight=None)


def _joined(one: Piece, other: Piece) -> Piece:
    if one.qid.dtype.kind != other.qid.dtype.kind:
        qid = np.concatenate([one.qid.astype(str), other.qid.astype(str)])
    else:
        qid = np.concatenate([one.qid, other.qid])
    X, y = np.concatenate([one.X, other.X]), np.concatenate([one.y, other.y])
    return replace(other, X=X, y=y, qid=qid, weight=None)
