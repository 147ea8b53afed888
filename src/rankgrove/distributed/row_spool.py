"""The rows of one worker in a temporary file: they are read batch by batch, and never held whole.

Life of a spool: 1. ``add`` reads the partitions of this worker. 2. ``stored_shard`` (a collective
call) agrees on the order of queries with the other workers, moves rows to the workers that own
their queries, and returns the shard, whose rows are grouped by query. Where no row moves and all
are in order, the file is used as it is; else another one is written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._memory import release_memory
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.names import default_feature_names
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.core.row_batch import RowBatch
from rankgrove.data.matrix.cache import TemporaryCacheEntry, temporary_folder
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.data.matrix.disk_matrix import DiskMatrix, naming_folder
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.matrix.streamed import StreamedMatrix
from rankgrove.data.reading.options import LoadOptions
from rankgrove.data.scanning.batch_dictionaries import BatchDictionaries, scanned_categories
from rankgrove.data.scanning.scan import Scan
from rankgrove.distributed.arrow_bytes import from_frames, rows_from_bytes, rows_to_bytes, to_frames
from rankgrove.distributed.common_categories import common_categories
from rankgrove.distributed.partitions import Partition
from rankgrove.distributed.query_plan import Numbers, PartitionSummary, QueryPlan, refuse_unlike
from rankgrove.distributed.whole_queries import LocalPartition, agreed_plan
from rankgrove.errors import DataError
from rankgrove.workers.communicator import Communicator, reading_message

Sides = dict[str, npt.NDArray[Any]]

_BATCH_ROWS = 1 << 15  # that are written at a time
_MOVED_BYTES = 32 << 20  # of the features of rows that a worker sends at a time


class UnspooledRowsError(Exception):
    """Rows stay in memory: sparse ones would be larger in a file, or text is mixed with tables."""


class StoredShard(Scan):
    """A shard of whole queries whose features are in a temporary file."""

    def __init__(self, data: RankingInput) -> None:
        super().__init__([], LoadOptions(), None)
        self._data = data

    def read(self) -> RankingInput:
        """Return the rows."""
        return self._data

    def __repr__(self) -> str:
        return "<StoredShard>"


class RowSpool:
    """The rows of this worker's partitions of one data set, in the order in which they are read."""

    def __init__(self) -> None:
        self.parts: list[LocalPartition] = []
        self._values: DiskMatrix | None = None
        self._is_text = False  # whether later batches may have more columns
        self._numbers = (0, 0)  # of the first column of the current partition, and after its last
        self._dictionaries = BatchDictionaries()
        self._first: PartitionSummary | None = None

    def add(self, part: Partition, batches: Iterable[RowBatch]) -> None:
        """Read a partition; documents whose weight is 0 are left out.

        Raises
        ------
        UnspooledRowsError : for rows that stay in memory; the spool is of no use after that
        """
        heads: list[RowBatch] = []
        for batch in batches:
            if batch.X.entries is not None or self._differs(batch):
                raise UnspooledRowsError
            if batch.is_text:
                self._widen(batch, is_first=not heads)
            kept = batch if batch.weight is None else _weighted(batch)
            for start in range(0, len(kept.y), _BATCH_ROWS):
                end = min(start + _BATCH_ROWS, len(kept.y))
                self._write(part, kept.slice_rows(start, end))
            heads.append(replace(kept, X=kept.without_rows().X))
        if not heads:
            return
        first = self._with_text_columns(part, heads[0]) if self._is_text else heads[0]
        names = [*first.sides, "y", "qid"]
        sides: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in heads]) for name in names
        }
        self.parts.append(LocalPartition.of(part, replace(first, **sides)))
        release_memory()  # what reading took is not needed for learning

    def _write(self, part: Partition, batch: RowBatch) -> None:
        if self._values is None:
            self._values = DiskMatrix(temporary_folder(), 0.0 if batch.absent == "zero" else np.nan)
        if batch.is_text:
            self._values.append(self._dictionaries.coded(batch), batch.first_column)
            return
        first = self._like_first(part, batch)
        if first.names is not None and batch.names != first.names:
            places = Columns(first.names, first.count).places(batch.names or (), part.name)
            if places is not None:
                batch = replace(batch, X=batch.X.select_columns(places).with_names(first.names))
        self._values.append(self._dictionaries.coded(replace(batch, source=part.name)))

    def _like_first(self, part: Partition, batch: RowBatch) -> PartitionSummary:
        """Refuse other columns than those of the first partition; return what that has."""
        own = _summary(part, batch)
        if self._first is None:
            self._first = own
        refuse_unlike([self._first, own])
        return self._first

    def _differs(self, batch: RowBatch) -> bool:
        """Return whether this is text and what was read before is not, or the other way round."""
        if self._values is None:
            self._is_text = batch.is_text
        return batch.is_text != self._is_text

    def _widen(self, batch: RowBatch, is_first: bool) -> None:
        """Note the columns that a batch of text mentions."""
        begin, end = batch.first_column, batch.first_column + batch.X.n_columns
        if not is_first:
            begin, end = min(begin, self._numbers[0]), max(end, self._numbers[1])
        self._numbers = begin, end

    def _with_text_columns(self, part: Partition, head: RowBatch) -> RowBatch:
        """Return the head of a partition of text with all columns that it mentions."""
        begin, end = self._numbers
        names = default_feature_names(end - begin, begin)
        whole = replace(head, X=DenseMatrix(np.empty((0, end - begin), np.float32), names))
        self._like_first(part, whole)
        return whole

    def matrix(self, plan: QueryPlan) -> FeatureMatrix:
        """Return the features of all rows with the columns of the plan."""
        places = np.arange(plan.columns.count)
        if self._first is not None and self._first.names not in (None, plan.columns.names):
            found = plan.columns.places(self._first.names, self._first.name)
            places = places if found is None else np.asarray(found)
        values = self._values or DiskMatrix(temporary_folder())
        values.finish((self._numbers[0] + places).tolist())
        maps, categories = scanned_categories(self._dictionaries.finished())
        where = {int(column): place for place, column in enumerate(places)}
        X = _streamed(values, plan)
        if not categories:
            return X
        return X.map_columns(
            {where[j]: one for j, one in maps.items()},
            {where[j]: one for j, one in categories.items()},
        )


def _weighted(batch: RowBatch) -> RowBatch:
    """Return the rows whose weight is not 0: fits take the others as if they were not there."""
    assert batch.weight is not None
    counting = np.flatnonzero(batch.weight)
    return batch if len(counting) == len(batch.weight) else batch.select_rows(counting)


def _summary(part: Partition, batch: RowBatch) -> PartitionSummary:
    return PartitionSummary(
        0,
        number=part.number,
        name=part.name,
        names=batch.names,
        count=batch.X.n_columns,
        absent=batch.absent,
        sides=[*batch.sides],
        ids=np.empty(0),
        sizes=np.empty(0, np.int64),
    )


def _streamed(values: DiskMatrix, plan: QueryPlan) -> StreamedMatrix:
    def gone() -> DiskMatrix:
        raise DataError("the features of this shard have been deleted: only their codes are kept")

    shape = values.n_rows, plan.columns.count
    X = StreamedMatrix(shape, TemporaryCacheEntry(), gone, plan.columns.names)
    X.set_values(values)
    return X


def stored_shard(spool: RowSpool, communicator: Communicator, split_queries: str) -> StoredShard:
    """Agree on the order of queries, and send rows to the workers that own their queries."""
    plan = agreed_plan(spool.parts, communicator, split_queries)
    X = spool.matrix(plan)
    query = _concatenated(
        [numbers[p.query_of_row] for p, numbers in zip(spool.parts, plan.numbers, strict=True)]
    )
    rows = [len(part.rows.y) for part in spool.parts]
    numbers = _concatenated(
        [np.arange(start, start + n) for start, n in zip(plan.starts, rows, strict=True)]
    )
    sides: Sides = {"query": query, "row_number": numbers}
    for name in ("y", *plan.sides):
        sides[name] = np.concatenate(
            [np.empty(0), *(getattr(part.rows, name) for part in spool.parts)]
        )
    named = [spool.parts[0].part.name if spool.parts else "no rows"]
    head = RowBatch(X, sides["y"], query)
    (head,), categories = common_categories(named, [head], communicator)
    X = head.X
    owner = np.searchsorted(plan.bounds, query, side="right") - 1
    moved = _Moved(plan, [*sides])
    for arrived in _exchanged(X, sides, owner, communicator):
        moved.add(*arrived)
    kept = np.flatnonzero(owner == communicator.rank)
    sides, source = _in_order(sides, kept, moved)
    if moved.n_rows or not np.array_equal(source, np.arange(len(X))):
        X = _streamed(_rewritten(X, moved, source), plan)
    columns = plan.columns.names or tuple(map(str, range(plan.columns.count)))
    X = X.with_categories({columns.index(name): found for name, found in categories.items()})
    first, end = plan.bounds[communicator.rank : communicator.rank + 2]
    sizes = np.bincount(sides["query"] - first, minlength=end - first)
    offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    release_memory()
    position = sides.get("position")
    return StoredShard(
        RankingInput(
            X=X,
            y=np.ascontiguousarray(sides["y"]),
            groups=QueryGroups(offsets, None, plan.ids),
            weight=sides.get("weight"),
            columns=Columns(plan.columns.names, plan.columns.count, categories=X.categories),
            absent=plan.absent,
            n_given=len(X),
            position=None if position is None else position.astype(np.int64),
            propensity=sides.get("propensity"),
        )
    )


def _concatenated(arrays: list[Numbers]) -> Numbers:
    return np.concatenate([np.empty(0, np.int64), *arrays])


def _exchanged(
    X: FeatureMatrix, sides: Mapping[str, npt.NDArray[Any]], owner: Numbers, workers: Communicator
) -> Iterator[tuple[FeatureMatrix, dict[str, npt.NDArray[Any]]]]:
    """Send rows to their owners in batches; yield the batches of other workers."""
    n_rows = max(1, _MOVED_BYTES // (4 * max(X.n_columns, 1)))
    leaving = np.flatnonzero(owner != workers.rank)
    n_rounds = np.array([-(-len(leaving) // n_rows)], np.int64)
    workers.maximum(n_rounds)
    for number in range(int(n_rounds[0])):
        chosen = leaving[number * n_rows : (number + 1) * n_rows]
        values = _taken(X, chosen)
        parts = []
        for worker in range(workers.size):
            own = owner[chosen] == worker
            some = {name: side[chosen[own]] for name, side in sides.items()}
            rows = [rows_to_bytes(DenseMatrix(values[own]), some)] if own.any() else []
            parts.append(to_frames(rows))
        for worker, message in enumerate(workers.exchange(parts)):
            with reading_message(worker):
                found = [rows_from_bytes(frame) for frame in from_frames(message)]
            yield from found


def _taken(X: FeatureMatrix, rows: Numbers) -> npt.NDArray[np.float32]:
    """Read ascending rows, a block of neighbours at a time."""
    result = np.empty((len(rows), X.n_columns), np.float32)
    start = 0
    while start < len(rows):
        first = int(rows[start])
        end = int(np.searchsorted(rows, first + _BATCH_ROWS))
        block = X.take_rows(slice(first, int(rows[end - 1]) + 1))
        result[start:end] = block[rows[start:end] - first]
        start = end
    return result


class _Moved:
    """Rows that have come from other workers."""

    def __init__(self, plan: QueryPlan, names: list[str]) -> None:
        self.values = DiskMatrix(temporary_folder())
        self._sides: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in names}
        self._n_columns = plan.columns.count
        self.n_rows = 0

    def add(self, X: FeatureMatrix, sides: Mapping[str, npt.NDArray[Any]]) -> None:
        self.values.append(X.to_array())
        for name, side in sides.items():
            self._sides[name].append(np.array(side))
        self.n_rows += len(X)

    def side(self, name: str) -> list[npt.NDArray[Any]]:
        return self._sides[name]

    def blocks(self) -> Iterator[npt.NDArray[np.float32]]:
        self.values.finish(range(self._n_columns))
        return self.values.row_blocks()


def _in_order(sides: Sides, kept: Numbers, moved: _Moved) -> tuple[Sides, Numbers]:
    """Return the values of this worker's rows in order of queries, and where each row lies.

    The rows of this worker come first, then those that have come from others.
    """
    n_own = len(sides["query"])
    joined = {name: np.concatenate([side[kept], *moved.side(name)]) for name, side in sides.items()}
    source = np.r_[kept, np.arange(n_own, n_own + moved.n_rows)]
    order = np.lexsort((joined["row_number"], joined["query"]))
    return {name: side[order] for name, side in joined.items()}, source[order]


def _rewritten(X: FeatureMatrix, moved: _Moved, source: Numbers) -> DiskMatrix:
    """Write rows in another order: all to a file row by row, from which they are taken."""
    n_rows, n_columns = len(X) + moved.n_rows, X.n_columns
    result = DiskMatrix(temporary_folder())
    with naming_folder(temporary_folder()), tempfile.TemporaryFile(dir=temporary_folder()) as file:
        for blocks in (X.row_blocks(), moved.blocks()):
            for block in blocks:
                np.ascontiguousarray(block, np.float32).tofile(file)
        file.flush()
        if n_rows:
            flat: Any = np.memmap(file, np.float32, "r", shape=(n_rows, n_columns))
            for start in range(0, len(source), _BATCH_ROWS):
                result.append(np.array(flat[source[start : start + _BATCH_ROWS]]))
    result.finish(range(n_columns))
    return result
