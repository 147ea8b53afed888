"""Fits on a Dask cluster: one task per worker, pinned to it."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from rankgrove._optional import require
from rankgrove.data.reading.arrow import as_arrow
from rankgrove.distributed.engine import Running, Source, address_towards
from rankgrove.distributed.parts import Arrays, Part, settled_options, shares
from rankgrove.distributed.prediction import Scoring
from rankgrove.distributed.worker import Job, work
from rankgrove.errors import DataError, RankgroveError, WorkerLost


class DaskEngine:
    """A Dask cluster as its ``Client`` knows it."""

    takes = "dask dataframes and arrays"

    def __init__(self, client: Any) -> None:
        require("dask.distributed", "dask", "a fit on Dask")
        self._client = client

    def host(self) -> str:
        """Return the address of this machine on the way to the scheduler."""
        return address_towards(urlsplit(self._client.scheduler.address).hostname or "127.0.0.1")

    def n_workers(self, wanted: int | None) -> int:
        """Return the number of workers of the cluster, at most as many as are wanted."""
        n_known = len(self._client.nthreads())
        if n_known == 0:
            raise RankgroveError(f"the Dask cluster {self._client!r} has no workers")
        return min(n_known, wanted or n_known)

    def source(
        self, name: str, data: Any, arrays: Arrays | None, options: Mapping[str, Any]
    ) -> Source | None:
        """Take a dask dataframe, or dask arrays."""
        if arrays is not None and type(arrays.X).__module__.startswith("dask"):
            return Source(name, options, frame=_blocks(arrays, name))
        if not hasattr(data, "to_delayed") or not hasattr(data, "_meta"):
            return None
        settled, wanted = settled_options(as_arrow(data._meta_nonempty).schema, options)
        return Source(name, settled, frame=_partitions(data[wanted], name))

    def start(self, job: Job, sources: list[Source]) -> Running:
        """Let workers make Arrow tables of partitions, then start a task on each of them."""
        addresses = sorted(self._client.nthreads())[: job.invitation.n_workers]
        held = [
            [
                self._placed(share, address)
                for share, address in zip(
                    shares(source.frame or source.parts, len(addresses)), addresses, strict=True
                )
            ]
            for source in sources
        ]
        _wait_for([part.content for source in held for own in source for part in own])
        run = uuid.uuid4().hex[:8]
        futures = {}
        for rank, address in enumerate(addresses):
            own = [source[rank] for source in held]
            heads = [[replace(part, content=None) for part in parts] for parts in own]
            contents = [[part.content for part in parts] for parts in own]
            futures[address] = self._client.submit(
                _task,
                job,
                rank,
                heads,
                contents,
                key=f"rankgrove-fit-{run}-{rank}",
                workers=[address],
                allow_other_workers=False,
                retries=0,
                pure=False,
            )
        return _DaskTasks(self._client, futures)

    def predicted(self, scoring: Scoring, data: Any) -> Any:
        """Return a Series of scores for a dataframe, an array of them for an array."""
        if hasattr(data, "map_partitions") and hasattr(data, "_meta_nonempty"):
            known = scoring.of_schema(as_arrow(data._meta_nonempty).schema)
            meta = data._meta.iloc[:, :0].assign(score=np.empty(0))["score"]
            return data.map_partitions(_scored, known, meta=meta)
        if hasattr(data, "map_blocks"):
            X = data.rechunk({1: -1})
            return X.map_blocks(scoring.matrix, dtype=np.float64, drop_axis=1, meta=np.empty(0))
        return None

    def predicted_files(self, scoring: Scoring, paths: list[str]) -> Any:
        """Return an array of scores, in order of files; their numbers are not known yet."""
        from dask.array import concatenate, from_delayed
        from dask.delayed import delayed

        score = delayed(scoring.file, pure=True)
        unknown = (float("nan"),)
        arrays = [
            from_delayed(score(path), unknown, np.float64)  # type: ignore[no-untyped-call]
            for path in paths
        ]
        return concatenate(arrays)  # type: ignore[no-untyped-call]

    def _placed(self, parts: list[Part], address: str) -> list[Part]:
        """Compute delayed parts where they are wanted, or elsewhere if that worker is gone."""
        delayed = [part.content for part in parts if hasattr(part.content, "dask")]
        futures = iter(self._client.compute(delayed, workers=[address], allow_other_workers=True))
        return [
            replace(part, content=next(futures)) if hasattr(part.content, "dask") else part
            for part in parts
        ]


class _DaskTasks:
    """The tasks of one attempt, by the address of the worker."""

    def __init__(self, client: Any, futures: dict[str, Any]) -> None:
        self._client = client
        self._futures = futures

    def check(self) -> None:
        known = self._client.nthreads()
        for rank, (address, future) in enumerate(self._futures.items()):
            if future.status == "error":
                raise future.exception()
            if future.status in ("cancelled", "lost") or address not in known:
                raise WorkerLost(f"worker {rank} ({address}) has left the cluster", rank, address)

    def stop(self) -> None:
        from dask.distributed import wait

        futures = list(self._futures.values())
        with contextlib.suppress(TimeoutError):
            wait(futures, timeout=2)  # type: ignore[no-untyped-call]
        self._client.cancel(futures, force=True)


def _task(job: Job, rank: int, heads: list[list[Part]], contents: list[list[Any]]) -> None:
    from dask.distributed import get_worker

    sets = [
        [replace(head, content=content) for head, content in zip(*both, strict=True)]
        for both in zip(heads, contents, strict=True)
    ]
    work(job, rank, sets, get_worker().state.nthreads)


def _scored(frame: Any, scoring: Scoring) -> Any:
    """Return the scores of a partition, with its index."""
    return frame.iloc[:, :0].assign(score=scoring.table(as_arrow(frame)))["score"]


def _partitions(frame: Any, name: str) -> list[Part]:
    """Return the partitions of a dataframe, each as a delayed Arrow table."""
    from dask.delayed import delayed

    as_table = delayed(as_arrow)
    return [
        Part(number, f"{name}, partition {number}", as_table(partition))
        for number, partition in enumerate(frame.to_delayed())
    ]


def _blocks(arrays: Arrays, name: str) -> list[Part]:
    """Return the blocks of rows of dask arrays, each as delayed arrays."""
    from dask.delayed import delayed

    X = arrays.X if arrays.X.numblocks[1] == 1 else arrays.X.rechunk({1: -1})
    columns = {"X": X.to_delayed()[:, 0]}
    for side, values in (("y", arrays.y), ("qid", arrays.qid), ("sample_weight", arrays.weight)):
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
    make = delayed(Arrays)
    weights = columns.get("sample_weight", [None] * X.numblocks[0])
    blocks = zip(columns["X"], columns["y"], columns["qid"], weights, strict=True)
    return [
        Part(number, f"{name}, block {number}", make(*block)) for number, block in enumerate(blocks)
    ]


def _wait_for(contents: list[Any]) -> None:
    """Wait until all parts are there; what reading them raised is raised here."""
    from dask.distributed import Future, wait

    futures = [content for content in contents if isinstance(content, Future)]
    wait(futures)  # type: ignore[no-untyped-call]
    for future in futures:
        if future.status == "error":
            future.result()
