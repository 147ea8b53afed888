"""Fits on a Dask cluster: one task per worker, pinned to it."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from rankgrove._optional import require
from rankgrove.data.core.fit_data import FitData
from rankgrove.data.matrix.arrow_tables import as_arrow
from rankgrove.distributed.engine import (
    DataSource,
    NoWorkersError,
    RunningTasks,
    address_towards,
)
from rankgrove.distributed.partition_scorer import PartitionScorer
from rankgrove.distributed.partitions import Partition, assign_partitions, resolved_options
from rankgrove.distributed.worker import FitTask, run_worker
from rankgrove.errors import DataError, WorkerLost

if TYPE_CHECKING:
    import pyarrow as pa

_TICK_SECONDS = 0.5


class DaskEngine:
    """The Dask cluster of a ``Client``."""

    accepts = "dask dataframes and arrays"

    def __init__(self, client: Any) -> None:
        require("dask.distributed", "dask", "a fit on Dask")
        self._client = client
        self._silent: set[str] = set()  # addresses of workers that did not answer in time

    def host(self) -> str:
        """Return the address of this machine's interface that routes to the scheduler."""
        return address_towards(urlsplit(self._client.scheduler.address).hostname or "127.0.0.1")

    def n_workers(self, wanted: int | None) -> int:
        """Return the number of workers of the cluster, at most as many as are wanted."""
        n_known = len(self._addresses())
        if n_known == 0:
            raise NoWorkersError(f"the Dask cluster {self._client!r} has no workers")
        return min(n_known, wanted or n_known)

    def _addresses(self) -> list[str]:
        """Return the workers of the cluster, without those that were lost if there are others."""
        known = sorted(self._client.nthreads())
        return [address for address in known if address not in self._silent] or known

    def source(
        self, name: str, data: Any, arrays: FitData | None, options: Mapping[str, Any]
    ) -> DataSource | None:
        """Return the partitions of a dask dataframe, or the blocks of dask arrays."""
        if arrays is not None and hasattr(arrays.X, "_meta_nonempty"):
            raise DataError(
                "y and qid go with dask arrays; a dask dataframe brings them as columns: give it "
                "alone, with label= and query= (the names of these columns) among the options"
            )
        if arrays is not None and type(arrays.X).__module__.startswith("dask"):
            return DataSource(name, options, frame=_blocks(arrays, name))
        if not hasattr(data, "to_delayed") or not hasattr(data, "_meta"):
            return None
        schema, objects = _schema(data)
        try:
            settled, wanted = resolved_options(schema, options)
        except DataError as error:
            if not objects:
                raise
            shown = ", ".join(map(repr, objects))
            hint = f"columns of type object count as text: {shown}; astype(float) if one is numbers"
            raise DataError(f"{error} ({hint})") from None
        known = [*wanted, *(options.get("ignore") or ())]
        unknown = [name for name in objects if name not in known or name in _numbers(settled)]
        if unknown:
            raise DataError(
                f"{name}: the type of column {unknown[0]!r} is object, which does not tell whether "
                "it holds numbers: astype(float) or astype('string') does, or leave it out: ignore="
            )
        return DataSource(name, settled, frame=_partitions(data[wanted], name))

    def start(self, task: FitTask, sources: list[DataSource]) -> RunningTasks:
        """Let workers convert partitions to Arrow tables, then start a task on each of them."""
        n_workers = task.ticket.n_workers
        addresses = self._addresses()[:n_workers]
        if len(addresses) < n_workers:
            text = f"one of {n_workers} workers left the Dask cluster before its task was started"
            raise WorkerLost(text, len(addresses))
        assigned = [
            [self._compute(partitions, addresses[rank]) for rank, partitions in enumerate(own)]
            for own in (
                assign_partitions(source.frame or source.partitions, len(addresses))
                for source in sources
            )
        ]
        self._wait_for([p for source in assigned for own in source for p in own], task.patience)
        run = uuid.uuid4().hex[:8]
        futures = {}
        for rank, address in enumerate(addresses):
            own = [source[rank] for source in assigned]
            heads = [[replace(p, content=None) for p in partitions] for partitions in own]
            contents = [[p.content for p in partitions] for partitions in own]
            futures[address] = self._client.submit(
                _task,
                task,
                rank,
                heads,
                contents,
                key=f"rankgrove-fit-{run}-{rank}",
                workers=[address],
                allow_other_workers=False,
                retries=0,
                pure=False,
            )
        return _DaskTasks(self._client, futures, self._silent)

    def predict(self, scorer: PartitionScorer, data: Any) -> Any:
        """Return a Series of scores for a dataframe, an array of them for an array."""
        if hasattr(data, "map_partitions") and hasattr(data, "_meta_nonempty"):
            known = scorer.of_schema(_schema(data)[0])
            meta = data._meta.iloc[:, :0].assign(score=np.empty(0))["score"]
            return data.map_partitions(_scored, known, meta=meta)
        if hasattr(data, "map_blocks"):
            X = data.rechunk({1: -1})
            return X.map_blocks(scorer.matrix, dtype=np.float64, drop_axis=1, meta=np.empty(0))
        return None

    def predict_files(self, scorer: PartitionScorer, paths: list[str]) -> Any:
        """Return an array of scores, in order of files; their numbers are not known yet."""
        from dask.array import concatenate, from_delayed
        from dask.delayed import delayed

        score = delayed(scorer.file, pure=True)
        unknown = (float("nan"),)
        arrays = [
            from_delayed(score(path), unknown, np.float64)  # type: ignore[no-untyped-call]
            for path in paths
        ]
        return concatenate(arrays)  # type: ignore[no-untyped-call]

    def _compute(self, partitions: list[Partition], address: str) -> list[Partition]:
        """Compute delayed partitions on a worker, or on another one if it is gone."""
        delayed = [p.content for p in partitions if hasattr(p.content, "dask")]
        futures = iter(self._client.compute(delayed, workers=[address], allow_other_workers=True))
        return [
            replace(p, content=next(futures)) if hasattr(p.content, "dask") else p
            for p in partitions
        ]

    def _wait_for(self, partitions: list[Partition], patience: float) -> None:
        """Wait until all partitions are computed; raise the error of one that could not be.

        If none is finished for ``patience`` seconds, the worker that computes one is lost.
        """
        from dask.distributed import Future, wait

        waiting = {p.content: p for p in partitions if isinstance(p.content, Future)}
        last = time.monotonic()
        while waiting:
            with contextlib.suppress(TimeoutError):
                wait(list(waiting), _TICK_SECONDS, "FIRST_COMPLETED")  # type: ignore[no-untyped-call]
            finished = [future for future in waiting if future.status != "pending"]
            for future in finished:
                _check_partition(future, waiting.pop(future))
            if finished:
                last = time.monotonic()
            elif time.monotonic() - last > patience:
                raise self._lost(waiting, patience)

    def _lost(self, waiting: dict[Any, Partition], patience: float) -> WorkerLost:
        """Cancel the waiting partitions; return the loss of the workers that keep them waiting.

        Those are the workers without a recent heartbeat, if there are any: a worker that computes a
        partition may itself wait for data that a silent worker holds.
        """
        busy = self._without_heartbeat_for(patience / 2) or self._computing(
            {f.key for f in waiting}
        )
        known = self._addresses()
        self._silent.update(busy)
        self._client.cancel(list(waiting), force=True)
        partition = next(iter(waiting.values()))
        where = f" ({', '.join(busy)})" if busy else ""
        return WorkerLost(
            f"{partition.name} was not computed within {patience:g} seconds by its worker{where}",
            known.index(busy[0]) if busy and busy[0] in known else 0,
            busy[0] if busy else "",
        )

    def _computing(self, keys: set[Any]) -> list[str]:
        """Return the workers that compute one of these tasks, else those that compute any."""
        tasks = self._client.processing()
        busy = [address for address in sorted(tasks) if keys & set(tasks[address])]
        return busy or [address for address in sorted(tasks) if tasks[address]]

    def _without_heartbeat_for(self, seconds: float) -> list[str]:
        """Return the workers whose last heartbeat is older than that."""

        def ages(dask_scheduler: Any) -> dict[str, float]:  # sent by value: it knows no rankgrove
            from time import time

            return {name: time() - one.last_seen for name, one in dask_scheduler.workers.items()}

        found = self._client.run_on_scheduler(ages)
        return sorted(address for address, age in found.items() if age > seconds)


class _DaskTasks:
    """The tasks of one attempt, by the address of the worker."""

    def __init__(self, client: Any, futures: dict[str, Any], silent: set[str]) -> None:
        self._client = client
        self._futures = futures
        self._silent = silent

    def check(self) -> None:
        known = self._client.nthreads()
        for rank, (address, future) in enumerate(self._futures.items()):
            if future.status == "error":
                raise future.exception()
            if future.status in ("cancelled", "lost") or address not in known:
                raise WorkerLost(f"worker {rank} ({address}) has left the cluster", rank, address)

    def exclude(self, rank: int) -> None:
        self._silent.add(list(self._futures)[rank])

    def stop(self) -> None:
        from dask.distributed import wait

        futures = list(self._futures.values())
        with contextlib.suppress(TimeoutError):
            wait(futures, timeout=2)  # type: ignore[no-untyped-call]
        self._client.cancel(futures, force=True)


def _task(
    task: FitTask, rank: int, heads: list[list[Partition]], contents: list[list[Any]]
) -> None:
    from dask.distributed import get_worker

    sets = [
        [replace(head, content=content) for head, content in zip(*both, strict=True)]
        for both in zip(heads, contents, strict=True)
    ]
    run_worker(task, rank, sets, get_worker().state.nthreads)


def _scored(frame: Any, scorer: PartitionScorer) -> Any:
    """Return the scores of a partition, with its index."""
    return frame.iloc[:, :0].assign(score=scorer.table(as_arrow(frame)))["score"]


def _schema(frame: Any) -> tuple[pa.Schema, list[str]]:
    """Return the schema of a dataframe, and its columns of objects, which count as text."""
    meta = frame._meta_nonempty
    objects = [name for name, kind in meta.dtypes.items() if kind.type is np.object_]
    return as_arrow(meta.astype(dict.fromkeys(objects, "str"))).schema, objects


def _numbers(settled: Mapping[str, Any]) -> set[str]:
    """Return the features that are numbers."""
    return {*settled["features"]}.difference(settled.get("categorical", ()))


def _partitions(frame: Any, name: str) -> list[Partition]:
    """Return the partitions of a dataframe, each as a delayed Arrow table."""
    from dask.delayed import delayed

    as_table = delayed(as_arrow)
    return [
        Partition(number, f"{name}, partition {number}", as_table(partition))
        for number, partition in enumerate(frame.to_delayed())
    ]


def _blocks(arrays: FitData, name: str) -> list[Partition]:
    """Return the blocks of rows of dask arrays, each as delayed arrays."""
    from dask.delayed import delayed

    X = arrays.X if arrays.X.numblocks[1] == 1 else arrays.X.rechunk({1: -1})
    columns = {"X": X.to_delayed()[:, 0]}
    for side, values in (
        ("y", arrays.y),
        ("qid", arrays.qid),
        ("sample_weight", arrays.sample_weight),
        ("position", arrays.position),
        ("propensity", arrays.propensity),
    ):
        if values is None:
            continue
        if not hasattr(values, "to_delayed"):
            raise DataError(f"{side} is a {type(values).__name__}, but X is a dask array")
        known = all(size == size for size in (*X.chunks[0], *values.chunks[0]))
        if known and len(values) != len(X):
            raise DataError(f"{name}: {side} has {len(values)} entries but X has {len(X)} rows")
        own = values.rechunk((X.chunks[0],)) if known else values
        if own.numblocks[0] != X.numblocks[0]:
            raise DataError(
                f"{side} has {own.numblocks[0]} blocks, but X has {X.numblocks[0]}: "
                "compute_chunk_sizes() tells their sizes"
            )
        columns[side] = own.to_delayed()
    if "y" not in columns or "qid" not in columns:
        raise DataError("fit of dask arrays needs y and qid")
    make = delayed(FitData)
    blocks = zip(*columns.values(), strict=True)
    return [
        Partition(number, f"{name}, block {number}", make(**dict(zip(columns, block, strict=True))))
        for number, block in enumerate(blocks)
    ]


def _check_partition(future: Any, partition: Partition) -> None:
    """Raise the error of a partition that could not be computed."""
    if future.status == "error":
        error = future.exception()
        if isinstance(error, KeyError):  # of pandas, for columns that are selected
            raise DataError(f"{partition.name} lacks a column: {error.args[0]}") from error
        if isinstance(error, ValueError):  # of Dask, for columns that contradict the metadata
            raise DataError(f"{partition.name}: {error}") from error
        raise error
    if future.status != "finished":
        raise WorkerLost(f"{partition.name} was lost with its worker ({future.status})", 0)
