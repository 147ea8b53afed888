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
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.core.row_batch import RowBatch
from rankgrove.data.matrix.dense import DenseMatrix, as_matrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.matrix.sparse import stacked
from rankgrove.distributed.arrow_bytes import (
    from_frames,
    ids_to_bytes,
    rows_from_bytes,
    rows_to_bytes,
    to_frames,
)
from rankgrove.distributed.common_categories import common_categories
from rankgrove.distributed.partitions import Partition
from rankgrove.distributed.query_plan import Numbers, PartitionSummary, QueryPlan, make_plans
from rankgrove.workers.communicator import Communicator, reading_message


@dataclass(frozen=True)
class LocalPartition:
    """A partition that this worker has read, and its queries in order of appearance."""

    part: Partition
    rows: RowBatch
    ids: npt.NDArray[Any]
    query_of_row: Numbers

    @classmethod
    def of(cls, part: Partition, rows: RowBatch) -> LocalPartition:
        """Find the queries of a partition."""
        groups = QueryGroups.from_qid(rows.qid)
        return cls(part, rows, groups.ids, groups.query_of_row())


def whole_queries(
    located: Sequence[LocalPartition], communicator: Communicator, split_queries: str
) -> RowBatch:
    """Agree on the order of queries, and send rows to the workers that own their queries."""
    n_workers, rank = communicator.size, communicator.rank
    parts, categories = common_categories(
        [one.part.name for one in located], [one.rows for one in located], communicator
    )
    located = [replace(one, rows=rows) for one, rows in zip(located, parts, strict=True)]
    plan = agreed_plan(located, communicator, split_queries)
    batches = [
        _matched(one, numbers[one.query_of_row], plan, start)
        for one, numbers, start in zip(located, plan.numbers, plan.starts, strict=True)
    ]
    sent = [
        b"" if w == rank else _packed([_of_worker(batch, w, plan) for batch in batches])
        for w in range(n_workers)
    ]
    received = communicator.exchange(sent)
    own = [_of_worker(batch, rank, plan) for batch in batches]
    others = [_from_bytes(data) for message in received for data in from_frames(message)]
    rows = _joined([*own, *others], plan, rank)
    columns = plan.columns.names or tuple(map(str, range(plan.columns.count)))
    known = {columns.index(column): found for column, found in categories.items()}
    return replace(rows, X=rows.X.with_categories(known))


def agreed_plan(
    located: Sequence[LocalPartition], communicator: Communicator, split_queries: str
) -> QueryPlan:
    """Gather the queries of the partitions on worker 0, and return its plan; a collective call."""
    n_workers = communicator.size
    described = communicator.exchange([_description(located), *[b""] * (n_workers - 1)])
    plans = [b""] * n_workers
    if communicator.rank == 0:
        workers = []
        for worker, data in enumerate(described):
            with reading_message(worker):
                workers.append(PartitionSummary.read(worker, data))
        plans = make_plans(workers, split_queries)
    message = communicator.exchange(plans)[0]
    with reading_message(0):
        return QueryPlan.read(message)


def _description(located: Sequence[LocalPartition]) -> bytes:
    frames = []
    for one in located:
        head = {
            "number": one.part.number,
            "name": one.part.name,
            "names": one.rows.names,
            "count": one.rows.X.shape[1],
            "absent": one.rows.absent,
            "sides": list(one.rows.sides),
        }
        sizes = np.bincount(one.query_of_row, minlength=len(one.ids)).astype(np.int64)
        frames += [json.dumps(head).encode(), ids_to_bytes(one.ids), sizes.tobytes()]
    return to_frames(frames)


def _matched(one: LocalPartition, query: Numbers, plan: QueryPlan, start: int) -> RowBatch:
    """Return the rows of a partition with columns in the common order and global numbers.

    Until the rows of a worker are joined, ``qid`` is the global number of each row's query.
    """
    X = one.rows.X
    if len(X) and X.names is not None and X.names != plan.columns.names:
        places = plan.columns.places(X.names, one.part.name)
        X = (X if places is None else X.select_columns(places)).with_names(plan.columns.names)
    numbers = np.arange(start, start + len(X))
    return replace(one.rows, X=X, qid=query, part=one.part.number, row_numbers=numbers)


def _of_worker(batch: RowBatch, worker: int, plan: QueryPlan) -> RowBatch:
    """Return the rows that a worker owns; nothing is copied if these are all."""
    low, high = plan.bounds[worker : worker + 2]
    mine = (batch.qid >= low) & (batch.qid < high)
    return batch if mine.all() else batch.select_rows(np.flatnonzero(mine))


def _to_bytes(batch: RowBatch) -> bytes:
    sides = {"query": batch.qid, "y": batch.y, "row_numbers": batch.row_numbers, **batch.sides}
    return batch.part.to_bytes(8, "little") + rows_to_bytes(batch.X, sides)


def _from_bytes(data: bytes) -> RowBatch:
    X, found = rows_from_bytes(memoryview(data)[8:])
    sides: dict[str, Any] = found
    part = int.from_bytes(data[:8], "little")
    return RowBatch(X, qid=sides.pop("query"), part=part, **sides)


def _packed(batches: list[RowBatch]) -> bytes:
    return to_frames([_to_bytes(batch) for batch in batches if len(batch.y)])


def _joined(batches: list[RowBatch], plan: QueryPlan, rank: int) -> RowBatch:
    """Concatenate the batches of a worker, in order of queries and partitions."""
    batches = sorted((b for b in batches if len(b.y)), key=lambda batch: batch.part)
    first, end = plan.bounds[rank : rank + 2]
    sides: dict[str, Any] = {
        name: _concatenated([b.sides[name] for b in batches], np.empty(0)) for name in plan.sides
    }
    rows = RowBatch(
        X=_stacked([b.X for b in batches], plan.columns.count).with_names(plan.columns.names),
        y=_concatenated([b.y for b in batches], np.empty(0)),
        qid=_concatenated([b.qid for b in batches], np.empty(0, np.int64)),
        absent=plan.absent,
        row_numbers=_concatenated([b.row_numbers for b in batches], np.empty(0, np.int64)),
        **sides,
    )
    if (np.diff(rows.qid) < 0).any():
        rows = rows.select_rows(np.argsort(rows.qid, kind="stable"))
    sizes = np.bincount(rows.qid - first, minlength=end - first)
    return replace(rows, qid=np.repeat(plan.ids, sizes))


def _stacked(matrices: list[FeatureMatrix], n_features: int) -> FeatureMatrix:
    if not matrices:
        return DenseMatrix(np.empty((0, n_features), np.float32))
    return matrices[0] if len(matrices) == 1 else as_matrix(stacked(matrices))


def _concatenated(arrays: list[Any], nothing: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if len(arrays) == 1:
        nothing = arrays[0]
    return np.concatenate(arrays) if len(arrays) > 1 else nothing
