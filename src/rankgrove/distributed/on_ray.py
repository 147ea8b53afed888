"""Fits on Ray: one actor per worker."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rankgrove._optional import require
from rankgrove.data.core.fit_data import FitData
from rankgrove.distributed.engine import (
    DataSource,
    NoWorkersError,
    RunningTasks,
    address_towards,
)
from rankgrove.distributed.partition_scorer import PartitionScorer, refuse_scores
from rankgrove.distributed.partitions import Partition, assign_partitions, resolved_options
from rankgrove.distributed.worker import FitTask, run_worker
from rankgrove.errors import WorkerLost


class RayEngine:
    """The Ray cluster that this process is connected to (``ray.init`` connects it if it is not)."""

    accepts = "Ray Datasets"

    def __init__(self) -> None:
        self._ray = require("ray", "ray", "a fit on Ray")
        if not self._ray.is_initialized():
            self._ray.init()

    def host(self) -> str:
        """Return the address of this machine's interface that routes to the head of the cluster."""
        head, _, _ = self._ray.get_runtime_context().gcs_address.rpartition(":")
        return address_towards(head)

    def n_workers(self, wanted: int | None) -> int:
        """Return one worker per machine of the cluster, unless another number is wanted."""
        cpus = self._cpus()
        if not cpus:
            raise NoWorkersError("the Ray cluster has no machine with CPUs")
        return min(wanted or len(cpus), int(sum(cpus)))

    def source(
        self, name: str, data: Any, arrays: FitData | None, options: Mapping[str, Any]
    ) -> DataSource | None:
        """Return the blocks of a Ray Dataset."""
        if not hasattr(data, "to_arrow_refs"):
            return None
        settled, wanted = resolved_options(_schema(data), options)
        return DataSource(name, settled, frame=_blocks(data, wanted, name))

    def start(self, task: FitTask, sources: list[DataSource]) -> RunningTasks:
        """Start an actor per worker; blocks go to the actors through the object store."""
        n_workers = task.ticket.n_workers
        held = [
            assign_partitions(source.frame or source.partitions, n_workers) for source in sources
        ]
        cpus = max(1, int(sum(self._cpus())) // n_workers)
        actor = self._ray.remote(_Actor).options(
            num_cpus=cpus, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
        )
        actors = [actor.remote() for _ in range(n_workers)]
        tasks = [
            one.run.remote(task, rank, [source[rank] for source in held], cpus)
            for rank, one in enumerate(actors)
        ]
        return _RayTasks(self._ray, actors, tasks)

    def predict(self, scorer: PartitionScorer, data: Any) -> Any:
        """Return the Dataset with a column of scores."""
        if not hasattr(data, "to_arrow_refs"):
            return None
        schema = _schema(data)
        refuse_scores(schema.names)
        return data.map_batches(scorer.of_schema(schema).with_scores, batch_format="pyarrow")

    def predict_files(self, scorer: PartitionScorer, paths: list[str]) -> Any:
        """Return a Dataset with the scores of each file."""

        def score(batch: Any) -> Any:
            import pyarrow as pa

            return pa.concat_tables([scorer.file_table(path.as_py()) for path in batch["path"]])

        files = self._ray.data.from_items([{"path": path} for path in paths])
        return files.map_batches(score, batch_format="pyarrow", batch_size=1)

    def _cpus(self) -> list[float]:
        """Return the CPUs of each machine that has any."""
        nodes = [node["Resources"].get("CPU", 0.0) for node in self._ray.nodes() if node["Alive"]]
        return [cpus for cpus in nodes if cpus >= 1]


class _Actor:
    """A worker in its own process, which Ray does not restart."""

    def run(self, task: FitTask, rank: int, sets: list[list[Partition]], n_threads: int) -> None:
        """Fit with this worker's partitions."""
        import ray

        def held(part: Partition) -> Partition:
            is_reference = isinstance(part.content, ray.ObjectRef)
            return replace(part, content=ray.get(part.content)) if is_reference else part

        run_worker(task, rank, [[held(part) for part in parts] for parts in sets], n_threads)


class _RayTasks:
    """The tasks of one attempt."""

    def __init__(self, ray: Any, actors: list[Any], tasks: list[Any]) -> None:
        self._ray = ray
        self._actors = actors
        self._tasks = tasks

    def check(self) -> None:
        done, _ = self._ray.wait(self._tasks, num_returns=len(self._tasks), timeout=0)
        for task in done:
            rank = self._tasks.index(task)
            try:
                self._ray.get(task)
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except self._ray.exceptions.RayActorError as error:
                reason = str(error).splitlines()[0]
                raise WorkerLost(f"worker {rank} is gone: {reason}", rank) from error

    def exclude(self, rank: int) -> None:
        """Do nothing: the next attempt starts new processes."""

    def stop(self) -> None:
        self._ray.wait(self._tasks, num_returns=len(self._tasks), timeout=2)
        for actor in self._actors:
            with contextlib.suppress(Exception):  # it may be gone already
                self._ray.kill(actor)


def _schema(data: Any) -> Any:
    """Return the Arrow schema of a Dataset, whatever its blocks are."""
    import pyarrow as pa

    schema = data.schema()
    return pa.schema(list(zip(schema.names, schema.types, strict=True)))


def _blocks(data: Any, wanted: list[str], name: str) -> list[Partition]:
    """Return the blocks of a Ray Dataset in order, as references to Arrow tables."""
    if list(data.schema().names) != wanted:
        data = data.select_columns(wanted)
    data.context.execution_options.preserve_order = True
    return [
        Partition(number, f"{name}, block {number}", reference)
        for number, reference in enumerate(data.to_arrow_refs())
    ]
