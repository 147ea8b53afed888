"""Redistribution of partitions over the workers so that each holds whole, neighbouring queries.

Documents are ordered by partition, and within a partition by row; queries by first appearance, as
``rankgrove.load`` would order the concatenated partitions. All documents of worker 0 come before
those of worker 1. Where partitions are in this order already, only queries that span two workers
move.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.sparse import stacked
from rankgrove.distributed.arrow_bytes import (
    from_frames,
    ids_to_bytes,
    rows_from_bytes,
    rows_to_bytes,
    to_frames,
)
from rankgrove.distributed.partitions import Partition, Rows
from rankgrove.distributed.query_plan import Numbers, PartitionSummary, QueryPlan, make_plans

if TYPE_CHECKING:
    from rankgrove.workers.communicator import Communicator


@dataclass(frozen=True)
class LocalPartition:
    """A partition that this worker has read, and its queries in order of appearance."""

    part: Partition
    rows: Rows
    ids: npt.NDArray[Any]
    query_of_row: Numbers

    @classmethod
    def of(cls, part: Partition, rows: Rows) -> LocalPartition:
        """Find the queries of a partition."""
        groups = QueryGroups.from_qid(rows.qid)
        return cls(part, rows, groups.ids, groups.query_of_row())


def whole_queries(
    located: Sequence[LocalPartition], communicator: Communicator, split_queries: str
) -> Rows:
    """Agree on the order of queries, and send rows to the workers that own their queries."""
    n_workers, rank = communicator.size, communicator.rank
    described = communicator.exchange([_description(located), *[b""] * (n_workers - 1)])
    plans = [b""] * n_workers
    if rank == 0:
        workers = [PartitionSummary.read(worker, data) for worker, data in enumerate(described)]
        plans = make_plans(workers, split_queries)
    plan = QueryPlan.read(communicator.exchange(plans)[0])
    pieces = [
        _Piece(one.part.number, numbers[one.query_of_row], _matched(one, plan, start))
        for one, numbers, start in zip(located, plan.numbers, plan.starts, strict=True)
    ]
    sent = [
        b"" if w == rank else _packed([p.of_worker(w, plan) for p in pieces])
        for w in range(n_workers)
    ]
    received = communicator.exchange(sent)
    own = [piece.of_worker(rank, plan) for piece in pieces]
    others = [_Piece.read(data) for message in received for data in from_frames(message)]
    return _joined([*own, *others], plan, rank)


def _description(located: Sequence[LocalPartition]) -> bytes:
    frames = []
    for one in located:
        head = {
            "number": one.part.number,
            "name": one.part.name,
            "names": one.rows.names,
            "count": one.rows.X.shape[1],
            "absent": one.rows.absent,
            "weighted": one.rows.weight is not None,
        }
        sizes = np.bincount(one.query_of_row, minlength=len(one.ids)).astype(np.int64)
        frames += [json.dumps(head).encode(), ids_to_bytes(one.ids), sizes.tobytes()]
    return to_frames(frames)


def _matched(one: LocalPartition, plan: QueryPlan, start: int) -> Rows:
    """Return the rows of a partition with columns in the common order, and global row numbers."""
    place = np.arange(start, start + len(one.rows.y))
    rows = replace(one.rows, place=place)
    if len(rows.y) == 0 or rows.names == plan.columns.names or rows.names is None:
        return rows
    places = plan.columns.places(rows.names, one.part.name)
    if places is not None:
        chosen = rows.X[:, places]
        X = np.ascontiguousarray(chosen) if isinstance(chosen, np.ndarray) else chosen
        rows = replace(rows, X=X)
    return replace(rows, names=plan.columns.names)


@dataclass(frozen=True)
class _Piece:
    """Rows of one partition, and the global number of the query of each."""

    part: int
    query: Numbers
    rows: Rows

    def of_worker(self, worker: int, plan: QueryPlan) -> _Piece:
        """Return the rows that a worker owns; nothing is copied if these are all."""
        low, high = plan.bounds[worker : worker + 2]
        mine = (self.query >= low) & (self.query < high)
        if mine.all():
            return self
        return _Piece(self.part, self.query[mine], _selected(self.rows, mine))

    def to_bytes(self) -> bytes:
        """Return the piece as bytes."""
        rows = self.rows
        return self.part.to_bytes(8, "little") + rows_to_bytes(
            rows.X,
            {"query": self.query, "y": rows.y, "weight": rows.weight, "place": rows.place},
        )

    @classmethod
    def read(cls, data: bytes) -> _Piece:
        """Read a piece from bytes."""
        X, sides = rows_from_bytes(memoryview(data)[8:])
        nothing = sides["query"][:0]
        rows = Rows(X, sides["y"], nothing, sides.get("weight"), None, None, sides["place"])
        return cls(int.from_bytes(data[:8], "little"), sides["query"], rows)


def _packed(pieces: list[_Piece]) -> bytes:
    return to_frames([piece.to_bytes() for piece in pieces if len(piece.query)])


def _joined(pieces: list[_Piece], plan: QueryPlan, rank: int) -> Rows:
    """Concatenate the pieces of a worker, in order of queries and partitions."""
    pieces = sorted((p for p in pieces if len(p.query)), key=lambda piece: piece.part)
    first, end = plan.bounds[rank : rank + 2]
    query = _concatenated([p.query for p in pieces], np.empty(0, np.int64))
    rows = Rows(
        X=_stacked([p.rows.X for p in pieces], plan.columns.count),
        y=_concatenated([p.rows.y for p in pieces], np.empty(0)),
        qid=query[:0],
        weight=_weights(pieces, plan),
        names=plan.columns.names,
        absent=plan.absent,
        place=_concatenated([p.rows.place for p in pieces], np.empty(0, np.int64)),
    )
    if (np.diff(query) < 0).any():
        order = np.argsort(query, kind="stable")
        rows, query = _selected(rows, order), query[order]
    sizes = np.bincount(query - first, minlength=end - first)
    return replace(rows, qid=np.repeat(plan.ids, sizes))


def _weights(pieces: list[_Piece], plan: QueryPlan) -> npt.NDArray[np.float64] | None:
    if not plan.weighted:
        return None
    return _concatenated([p.rows.weight for p in pieces], np.empty(0))


def _selected(rows: Rows, which: npt.NDArray[Any]) -> Rows:
    """Return some rows, without their query ids."""
    return replace(
        rows,
        X=rows.X[which],
        y=rows.y[which],
        qid=rows.qid[:0],
        weight=None if rows.weight is None else rows.weight[which],
        place=None if rows.place is None else rows.place[which],
    )


def _stacked(matrices: list[Any], n_features: int) -> Any:
    if not matrices:
        return np.empty((0, n_features), np.float32)
    return matrices[0] if len(matrices) == 1 else stacked(matrices)


def _concatenated(arrays: list[Any], nothing: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if len(arrays) == 1:
        nothing = arrays[0]
    return np.concatenate(arrays) if len(arrays) > 1 else nothing
