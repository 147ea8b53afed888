"""Scoring of checked input, and of scans batch by batch, with a model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import refuse_readings
from rankgrove.data.core.dataset import SharedQueries
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.core.row_batch import RowBatch
from rankgrove.data.matrix.dense import as_matrix
from rankgrove.data.matrix.sparse import stacked
from rankgrove.data.scanning.row_batches import Judgments, shared_query_message
from rankgrove.data.scanning.scan import Scan
from rankgrove.errors import DataError
from rankgrove.models.model import Model


def scores(model: Model, data: RankingInput, n_jobs: int | None) -> npt.NDArray[np.float64]:
    """Return the model's scores of the documents; those of a stream are scored block by block."""
    if model.needs_queries:
        return model.scores(data.X.to_array(), data.groups, n_jobs)
    return data.X.by_rows(lambda X: model.scores(X, None, n_jobs))


@dataclass(frozen=True)
class ScannedScores:
    """Scores of all documents of a scan; queries and labels if they were requested."""

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
    n_steps: int | None = None,
    what: str = "predict",
) -> ScannedScores:
    """Score a scan in one pass; keep only scores, and queries and labels if requested."""
    judgments = Judgments(scan.shared_queries) if queries or labels else None
    scores: list[npt.NDArray[np.float64]] = []
    scored = score_batches(
        model, scan, n_jobs, queries=queries, labels=labels, n_steps=n_steps, what=what
    )
    for batch, own in scored:
        scores.append(own)
        if judgments is not None:
            judgments.add(batch)
    found: dict[str, Any] = {} if judgments is None else judgments.finished()
    return ScannedScores(
        np.concatenate(scores),
        QueryGroups(found["offsets"], None, found["ids"]) if found else None,
        found["y"] if labels else None,
    )


def score_batches(
    model: Model,
    scan: Scan,
    n_jobs: int | None,
    *,
    queries: bool = False,
    labels: bool = False,
    n_steps: int | None = None,
    what: str = "predict",
) -> Iterator[tuple[RowBatch, npt.NDArray[np.float64]]]:
    """Yield each batch of a scan with its scores; whole queries where the model needs them.

    Labels are not read unless they are asked for, nor are queries unless they matter.
    """
    own = scan.like(model.columns, model.absent, what)
    if not labels:
        own = own.unlabelled(needs_queries=queries or model.needs_queries)
    n_uncertain = n_batches = 0
    batches = own.batches()
    if model.needs_queries:
        batches = _whole_queries(batches, own.shared_queries)
    for batch in batches:
        refuse_readings(batch.absent, model.absent, what)
        groups = QueryGroups.from_qid(batch.qid) if model.needs_queries else None
        if batch.X.entries is None and not batch.is_text:
            n_uncertain += model.uncertain(batch.X)
        n_batches += 1
        yield batch, model.scores_after(n_steps, batch.X, groups, n_jobs)
    if n_batches == 0:
        raise DataError(f"{what}: there are no rows")
    warn_of_rounded_values(n_uncertain, stacklevel=4)


def warn_of_rounded_values(n_uncertain: int, stacklevel: int) -> None:
    """Warn of values whose rounding to float32 may have changed the scores of a float64 model."""
    if n_uncertain:
        warnings.warn(
            f"this model compares in float64, and {n_uncertain:,} values lie within the rounding "
            "of one of its thresholds: a Dataset holds float32, so that some scores may differ "
            "from those of the library that trained the model. Give a float64 array or a data "
            "frame",
            stacklevel=stacklevel,
        )


def _whole_queries(
    batches: Iterator[RowBatch], shared_queries: SharedQueries
) -> Iterator[RowBatch]:
    """Re-batch the data at query boundaries; the documents of a query must be contiguous.

    ``shared_queries`` says, as for a fit, what a query id in several files means.
    """
    waiting: RowBatch | None = None
    complete_in: dict[Any, tuple[int, str]] = {}  # number and name of the file

    def complete(batch: RowBatch) -> RowBatch:
        for query in np.unique(batch.qid).tolist():
            key = (batch.part if shared_queries == "apart" else None, str(query))
            if key in complete_in:
                part, source = complete_in[key]
                if part != batch.part and shared_queries == "error":
                    raise DataError(shared_query_message(query, source, batch.source))
                raise DataError(
                    f"{batch.source}: documents of the query {query!r} do not follow one another: "
                    "sort the data by query, or load them into memory"
                )
            complete_in[key] = (batch.part, batch.source)
        return batch

    for batch in batches:
        if waiting is not None and waiting.part != batch.part and shared_queries != "merge":
            if len(waiting.X):
                yield complete(waiting)
            waiting = None
        whole = batch if waiting is None else _joined(waiting, batch)
        others = np.flatnonzero(whole.qid != whole.qid[-1:])
        end = int(others[-1]) + 1 if len(others) else 0
        if end:
            yield complete(whole.slice_rows(0, end))
        waiting = whole.slice_rows(end, len(whole.X))
    if waiting is not None and len(waiting.X):
        yield complete(waiting)


def _joined(one: RowBatch, other: RowBatch) -> RowBatch:
    if one.qid.dtype.kind != other.qid.dtype.kind:
        qid = np.concatenate([one.qid.astype(str), other.qid.astype(str)])
    else:
        qid = np.concatenate([one.qid, other.qid])
    X = as_matrix(stacked([one.X, other.X])).with_names(one.names)
    return replace(other, X=X, y=np.concatenate([one.y, other.y]), qid=qid, weight=None)
