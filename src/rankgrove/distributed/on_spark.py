"""Fits on Spark: one barrier stage, whose tasks run at the same time or not at all."""

from __future__ import annotations

import contextlib
import functools
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rankgrove._optional import require
from rankgrove.data.core.fit_data import FitData
from rankgrove.distributed.engine import DataSource, NoWorkersError, RunningTasks
from rankgrove.distributed.partition_scorer import SCORE, PartitionScorer, refuse_scores
from rankgrove.distributed.partitions import Partition, assign_partitions, resolved_options
from rankgrove.distributed.worker import FitTask, run_worker
from rankgrove.errors import RankgroveError

# Columns that are added to a frame to order its rows: the number of the data set, the file (Spark
# reads large files first; empty if the rows are not read from files), and the row within it.
_SET = "__rankgrove_set"
# The name of the file as it is: Spark tells it as an address, with some characters escaped.
_FILE_NAME = "url_decode(replace(input_file_name(), '+', '%2B'))"
_ORDER = ("__rankgrove_file", "__rankgrove_block", "__rankgrove_row")


class SparkEngine:
    """The Spark application of a session."""

    accepts = "Spark DataFrames"

    def __init__(self, session: Any) -> None:
        require("pyspark", "spark", "a fit on Spark")
        self._session = session
        self._context = session.sparkContext

    def host(self) -> str:
        """Return the address under which executors know the driver."""
        return str(self._context.getConf().get("spark.driver.host"))

    def n_workers(self, wanted: int | None) -> int:
        """Return how many tasks can run at the same time, at most as many as are wanted."""
        n_slots = int(self._context.defaultParallelism) // self._cpus()
        if n_slots == 0:
            raise NoWorkersError("Spark has no free slot for a task")
        return min(n_slots, wanted or n_slots)

    def source(
        self, name: str, data: Any, arrays: FitData | None, options: Mapping[str, Any]
    ) -> DataSource | None:
        """Return a Spark DataFrame with the columns that are read."""
        if not hasattr(data, "mapInArrow"):
            return None
        from pyspark.sql.pandas.types import to_arrow_schema

        settled, wanted = resolved_options(to_arrow_schema(data.schema), options)
        return DataSource(name, settled, frame=data.select(*(_quoted(name) for name in wanted)))

    def start(self, task: FitTask, sources: list[DataSource]) -> RunningTasks:
        """Start the barrier stage in a background thread, which waits for it."""
        n_workers = task.ticket.n_workers
        held = [
            assign_partitions(source.partitions, n_workers) if source.partitions else None
            for source in sources
        ]
        names = [source.name for source in sources]
        work = functools.partial(_task, task, names, held, self._cpus())
        frame = _ranged(sources, n_workers)
        if frame is None:
            frame = self._session.range(0, n_workers, 1, n_workers)
        stage = frame.mapInArrow(work, "rank long", barrier=True)
        return _SparkTasks(self._context, stage)

    def predict(self, scorer: PartitionScorer, data: Any) -> Any:
        """Return the DataFrame with a column of scores."""
        if not hasattr(data, "mapInArrow"):
            return None
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import DoubleType, StructType

        refuse_scores(data.columns)
        known = scorer.of_schema(to_arrow_schema(data.schema))
        schema = StructType([*data.schema.fields]).add(SCORE, DoubleType())
        return data.mapInArrow(functools.partial(_scored, known), schema)

    def predict_files(self, scorer: PartitionScorer, paths: list[str]) -> Any:
        """Return a DataFrame with the scores of each file."""
        files = self._session.createDataFrame([(path,) for path in paths], "path string")
        scored = functools.partial(_scored_files, scorer)
        parallel = files.repartition(min(len(paths), int(self._context.defaultParallelism)))
        return parallel.mapInArrow(scored, "path string, row long, score double")

    def _cpus(self) -> int:
        return int(self._context.getConf().get("spark.task.cpus", "1"))


class _SparkTasks:
    """A task that runs in a thread."""

    def __init__(self, context: Any, stage: Any) -> None:
        from pyspark import InheritableThread

        self._context = context
        self._group = f"rankgrove-fit-{uuid.uuid4().hex[:8]}"
        self._error: Exception | None = None
        self._thread = InheritableThread(target=self._run, args=(stage,), daemon=True)
        self._thread.start()

    def _run(self, stage: Any) -> None:
        self._context.setJobGroup(self._group, "rankgrove fit", interruptOnCancel=True)
        try:
            stage.collect()
        except Exception as error:  # of whatever kind, the driver raises it
            self._error = error

    def check(self) -> None:
        if self._error is not None:
            raise RankgroveError(f"Spark has given up: {self._error}") from self._error

    def exclude(self, rank: int) -> None:
        """Do nothing: the next attempt is another stage, whose tasks Spark places."""

    def stop(self) -> None:
        self._thread.join(2)
        if self._thread.is_alive():
            with contextlib.suppress(Exception):
                self._context.cancelJobGroup(self._group)
            self._thread.join(30)


def _ranged(sources: list[DataSource], n_workers: int) -> Any:
    """Return the rows of all frames, in order of files, in one range per task; None if no frame."""
    from pyspark.sql import functions

    frames = [
        source.frame.select(
            functions.lit(number).alias(_SET),
            functions.expr(_FILE_NAME).alias(_ORDER[0]),
            functions.input_file_block_start().alias(_ORDER[1]),
            functions.monotonically_increasing_id().alias(_ORDER[2]),
            "*",
        )
        for number, source in enumerate(sources)
        if source.frame is not None
    ]
    if not frames:
        return None
    every = functools.reduce(
        lambda one, other: one.unionByName(other, allowMissingColumns=True), frames
    )
    return every.repartitionByRange(n_workers, _SET, *_ORDER).sortWithinPartitions(_SET, *_ORDER)


def _task(
    task: FitTask,
    names: list[str],
    held: list[list[list[Partition]] | None],
    n_threads: int,
    batches: Iterable[Any],
) -> Iterator[Any]:
    from pyspark import BarrierTaskContext

    rank = BarrierTaskContext.get().partitionId()
    tables = _tables(batches, len(names))
    sets = []
    for name, shared, table in zip(names, held, tables, strict=True):
        own = [] if table is None else [Partition(rank, f"{name}, range {rank}", table)]
        sets.append(own if shared is None else shared[rank])
    run_worker(task, rank, sets, n_threads)
    return iter(())


def _tables(batches: Iterable[Any], n_sets: int) -> list[Any]:
    """Return the rows of a task by data set; None for a data set without rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = [batch for batch in batches if batch.num_rows]
    if not kept or _SET not in kept[0].schema.names:
        return [None] * n_sets
    table = pa.Table.from_batches(kept)
    numbers = table.column(_SET)
    table = table.drop_columns([_SET, *_ORDER])
    tables = [table.filter(pc.equal(numbers, number)) for number in range(n_sets)]
    return [one if one.num_rows else None for one in tables]


def _scored(scorer: PartitionScorer, batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        yield from scorer.with_scores(pa.Table.from_batches([batch])).to_batches()


def _scored_files(scorer: PartitionScorer, batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        for path in batch.column("path").to_pylist():
            yield from scorer.file_table(path).to_batches()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
