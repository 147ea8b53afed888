"""Fits on Spark: one barrier stage, whose tasks run at the same time or not at all."""

from __future__ import annotations

import contextlib
import functools
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rankgrove._optional import require
from rankgrove.distributed.engine import Running, Source
from rankgrove.distributed.parts import Arrays, Part, settled_options, shares
from rankgrove.distributed.prediction import SCORE, Scoring, refuse_scores
from rankgrove.distributed.worker import Job, work
from rankgrove.errors import RankgroveError

# Columns that are added to a frame: the number of its data set, and the place of the row.
_SET, _PLACE = "__rankgrove_set", "__rankgrove_place"


class SparkEngine:
    """A Spark application as its session knows it."""

    takes = "Spark DataFrames"

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
            raise RankgroveError("Spark has no free slot for a task")
        return min(n_slots, wanted or n_slots)

    def source(
        self, name: str, data: Any, arrays: Arrays | None, options: Mapping[str, Any]
    ) -> Source | None:
        """Take a Spark DataFrame."""
        if not hasattr(data, "mapInArrow"):
            return None
        from pyspark.sql.pandas.types import to_arrow_schema

        settled, wanted = settled_options(to_arrow_schema(data.schema), options)
        return Source(name, settled, frame=data.select(*(_quoted(name) for name in wanted)))

    def start(self, job: Job, sources: list[Source]) -> Running:
        """Start the barrier stage in a thread, which waits for it."""
        n_workers = job.invitation.n_workers
        held = [shares(source.parts, n_workers) if source.parts else None for source in sources]
        names = [source.name for source in sources]
        task = functools.partial(_task, job, names, held, self._cpus())
        frame = _ranged(sources, n_workers)
        if frame is None:
            frame = self._session.range(0, n_workers, 1, n_workers)
        stage = frame.mapInArrow(task, "rank long", barrier=True)
        return _SparkTasks(self._context, stage)

    def predicted(self, scoring: Scoring, data: Any) -> Any:
        """Return the DataFrame with a column of scores."""
        if not hasattr(data, "mapInArrow"):
            return None
        from pyspark.sql.pandas.types import to_arrow_schema
        from pyspark.sql.types import DoubleType, StructType

        refuse_scores(data.columns)
        known = scoring.of_schema(to_arrow_schema(data.schema))
        schema = StructType([*data.schema.fields]).add(SCORE, DoubleType())
        return data.mapInArrow(functools.partial(_scored, known), schema)

    def predicted_files(self, scoring: Scoring, paths: list[str]) -> Any:
        """Return a DataFrame with the scores of each file."""
        files = self._session.createDataFrame([(path,) for path in paths], "path string")
        scored = functools.partial(_scored_files, scoring)
        parallel = files.repartition(min(len(paths), int(self._context.defaultParallelism)))
        return parallel.mapInArrow(scored, "path string, row long, score double")

    def _cpus(self) -> int:
        return int(self._context.getConf().get("spark.task.cpus", "1"))


class _SparkTasks:
    """A job that runs in a thread."""

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

    def stop(self) -> None:
        self._thread.join(2)
        if self._thread.is_alive():
            with contextlib.suppress(Exception):
                self._context.cancelJobGroup(self._group)
            self._thread.join(30)


def _ranged(sources: list[Source], n_workers: int) -> Any:
    """Return the rows of all frames, in order, as neighbouring ranges; None without a frame."""
    from pyspark.sql import functions

    frames = [
        source.frame.select(
            functions.lit(number).alias(_SET),
            functions.monotonically_increasing_id().alias(_PLACE),
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
    return every.repartitionByRange(n_workers, _SET, _PLACE).sortWithinPartitions(_SET, _PLACE)


def _task(
    job: Job,
    names: list[str],
    held: list[list[list[Part]] | None],
    n_threads: int,
    batches: Iterable[Any],
) -> Iterator[Any]:
    from pyspark import BarrierTaskContext

    rank = BarrierTaskContext.get().partitionId()
    tables = _tables(batches, len(names))
    sets = []
    for name, shared, table in zip(names, held, tables, strict=True):
        own = [] if table is None else [Part(rank, f"{name}, range {rank}", table)]
        sets.append(own if shared is None else shared[rank])
    work(job, rank, sets, n_threads)
    return iter(())


def _tables(batches: Iterable[Any], n_sets: int) -> list[Any]:
    """Sort the batches of a task by their data set; those without a row are None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = [batch for batch in batches if batch.num_rows]
    if not kept or _SET not in kept[0].schema.names:
        return [None] * n_sets
    table = pa.Table.from_batches(kept)
    numbers = table.column(_SET)
    table = table.drop_columns([_SET, _PLACE])
    tables = [table.filter(pc.equal(numbers, number)) for number in range(n_sets)]
    return [one if one.num_rows else None for one in tables]


def _scored(scoring: Scoring, batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        yield from scoring.with_scores(pa.Table.from_batches([batch])).to_batches()


def _scored_files(scoring: Scoring, batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        for path in batch.column("path").to_pylist():
            yield from scoring.file_table(path).to_batches()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
