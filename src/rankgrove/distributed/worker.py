"""The work of each worker of a cluster fit, for every engine."""

from __future__ import annotations

import contextlib
import functools
import hmac
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rankgrove._memory import release_memory
from rankgrove._warning_relay import relaying_warnings
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.row_batch import RowBatch
from rankgrove.distributed.consistency import refuse_other_builds
from rankgrove.distributed.driver_hub import JoinTicket, WorkerLink
from rankgrove.distributed.messages import MessageKind
from rankgrove.distributed.partitions import Partition, partition_batches, read_partition
from rankgrove.distributed.rendezvous import Hub, join
from rankgrove.distributed.row_replication import replicate_rows, share_by_memory
from rankgrove.distributed.row_spool import RowSpool, StoredShard, UnspooledRowsError, stored_shard
from rankgrove.distributed.shard import Shard
from rankgrove.distributed.shard_fit import ROUND, fit_shard, split_records
from rankgrove.distributed.tree_sharing import CollectiveTreeSharer
from rankgrove.distributed.whole_queries import LocalPartition, whole_queries
from rankgrove.forests.growing import sharing_trees
from rankgrove.formats.container import to_bytes
from rankgrove.rankers.base.fitting import FitOptions
from rankgrove.training.fit_workers import FitWorkers
from rankgrove.training.journal import Journal
from rankgrove.workers.communicator import Communicator
from rankgrove.workers.row_shard import RowShard

_MAX_HEARTBEAT_SECONDS = 5.0


@dataclass(frozen=True)
class FitTask:
    """A cluster fit as all workers receive it.

    Attributes
    ----------
    ranker : the estimator, not fitted
    reading : for each data set (the training data first), the options for reading partitions
    eval_sets : names of the evaluation sets, and the number of the data set of each
    fit_options : options of ``fit`` that are the same on all workers
    split_queries : ``"gather"`` or ``"refuse"``
    bin_error : as in ``fit_shard``
    share : what workers share, ``"rows"`` or ``"trees"``; None: they decide by their memory
    patience : time-out in seconds for a worker that the others wait for
    records : those of the steps that are finished already
    ticket : how to join the driver
    """

    ranker: Any
    reading: Sequence[Mapping[str, Any]]
    eval_sets: Mapping[str, int]
    fit_options: Mapping[str, Any]
    split_queries: str
    bin_error: float
    share: str | None
    patience: float
    records: Sequence[bytes]
    ticket: JoinTicket


def run_worker(
    task: FitTask, rank: int, sets: Sequence[Sequence[Partition]], n_threads: int
) -> None:
    """Take part in a fit with this worker's partitions of each data set; report to the driver."""
    heartbeat = min(_MAX_HEARTBEAT_SECONDS, task.patience / 4)
    with WorkerLink(task.ticket, rank, heartbeat) as link:
        try:
            link.send(MessageKind.JOINED, rank=rank, host=link.host, process=os.getpid())
            with relaying_warnings(
                lambda kind, text: link.send(MessageKind.WARNING, category=kind, text=text)
            ):
                _run(task, rank, sets, n_threads, link)
            link.send(MessageKind.DONE)
        except Exception as error:  # whatever it is, the driver raises it, if it is still there
            name, about = type(error).__name__, getattr(error, "rank", None)
            with contextlib.suppress(OSError):
                link.send(MessageKind.ERROR, error=name, text=str(error), about=about)


def _run(
    task: FitTask,
    rank: int,
    sets: Sequence[Sequence[Partition]],
    n_threads: int,
    link: WorkerLink,
) -> None:
    ranker = task.ranker
    if ranker.n_jobs is None:
        ranker.set_params(n_jobs=n_threads)
    ranker.set_params(verbose=0)
    by_rows = (task.share or ranker.sharing()[0]) == "rows"  # else workers may decide by memory
    read = functools.partial(_read, n_jobs=ranker.n_jobs, link=link)
    streams = by_rows and ranker.reads_rows_once()
    spool = _spooled(sets[0], task.reading[0], ranker.n_jobs, link) if streams else None
    parts = read(sets[0], task.reading[0]) if spool is None else []
    others = [read(*one) for one in zip(sets[1:], task.reading[1:], strict=True)]
    with _connect(task, rank, link) as communicator:
        refuse_other_builds(communicator)
        train: RowBatch | StoredShard
        if streams and not RowShard(0, 0, communicator=communicator).any(spool is None):
            assert spool is not None
            train = stored_shard(spool, communicator, task.split_queries)
        else:
            parts = parts if spool is None else read(sets[0], task.reading[0])
            train = whole_queries(parts, communicator, task.split_queries)
        parts, spool = [], None
        held = [whole_queries(one, communicator, task.split_queries) for one in others]
        others.clear()
        release_memory()  # what reading took is not needed for learning
        if not by_rows:
            assert isinstance(train, RowBatch)
            batches = [train, *held]
            share = task.share or share_by_memory(ranker.sharing(), batches, communicator)
            by_rows = share == "rows"
        fit = _fit_rows if by_rows else _fit_trees
        fitted = fit(task, [train, *held], communicator, link)
        if rank == 0:
            link.send(MessageKind.MODEL, to_bytes(fitted, named=False))


def _fit_rows(task: FitTask, held: list[Any], communicator: Communicator, link: WorkerLink) -> Any:
    """Fit a ranker whose workers each hold a shard of the rows."""
    planned = sum(task.ranker.planned_trees())

    def on_step(step: int, record: bytes, metrics: Any) -> bool:
        link.send(MessageKind.STEP, record, step=step, planned=planned, metrics=metrics)
        return link.has_received(MessageKind.STOP)

    return fit_shard(
        task.ranker,
        _shard(held, task.eval_sets),
        communicator,
        fit_options=task.fit_options,
        bin_error=task.bin_error,
        resume=task.records,
        on_step=on_step,
    )


def _fit_trees(task: FitTask, held: list[Any], communicator: Communicator, link: WorkerLink) -> Any:
    """Fit a ranker whose workers each hold all rows and grow a part of the forests' trees.

    Every worker takes the boosting steps after that for itself, with the same bits.
    """
    ranker, is_first = task.ranker, communicator.rank == 0
    held[:] = [replicate_rows(rows, communicator) for rows in held]
    whole = _shard(held, task.eval_sets)
    rounds, steps = split_records(task.records)
    n_forest, n_boosted = ranker.planned_trees()
    planned = n_forest + n_boosted

    def send_step(step: int, record: bytes, metrics: Any) -> None:
        link.send(MessageKind.STEP, record, step=step, planned=planned, metrics=metrics)

    def on_round(n_trees: int, record: bytes) -> None:
        if is_first:
            send_step(n_trees, ROUND + record, {})

    def on_boosted(step: int, record: bytes, metrics: Any) -> None:
        send_step(n_forest + step, record, metrics)

    journal = Journal()
    if n_boosted:
        journal = Journal(steps, on_boosted if is_first else None, keeps=True)
    with sharing_trees(CollectiveTreeSharer(communicator, ranker.n_jobs, rounds, on_round)):
        options = FitOptions(whole.fit_eval_set(), **task.fit_options)
        return ranker._fit(whole, options, FitWorkers(journal=journal))


def _read(
    partitions: Sequence[Partition],
    options: Mapping[str, Any],
    *,
    n_jobs: int | None,
    link: WorkerLink,
) -> list[LocalPartition]:
    """Read partitions into memory."""
    read = []
    for partition in partitions:
        rows = read_partition(partition, options, n_jobs)
        read.append(LocalPartition.of(partition, rows))
        link.send(MessageKind.READ, partition=partition.name)
    return read


def _spooled(
    partitions: Sequence[Partition],
    options: Mapping[str, Any],
    n_jobs: int | None,
    link: WorkerLink,
) -> RowSpool | None:
    """Read partitions into a temporary file; None if the rows stay in memory."""
    spool = RowSpool()

    def batches(partition: Partition) -> Iterator[RowBatch]:
        for batch in partition_batches(partition, options, n_jobs):
            yield batch
            link.send(MessageKind.READ, partition=partition.name)

    try:
        for partition in partitions:
            spool.add(partition, batches(partition))
    except UnspooledRowsError:
        return None
    return spool


def _connect(task: FitTask, rank: int, link: WorkerLink) -> Communicator:
    """Report that this worker is ready; connect it with the other workers once all are."""
    size = task.ticket.n_workers
    token = hmac.digest(task.ticket.token, b"communicator", "sha256")
    if rank == 0:
        hub = Hub(link.host)
        link.send(MessageKind.READY, address=hub.address)
        link.receive()
        return hub.accept(size, token, patience=task.patience)
    link.send(MessageKind.READY)
    address = link.receive().values["address"]
    return join(address, rank, size, token, patience=task.patience)


def _shard(held: Sequence[Any], eval_sets: Mapping[str, int]) -> Shard:
    train: RowBatch | StoredShard = held[0]
    sets = {
        name: _eval_entry(held[number]) if number else "train" for name, number in eval_sets.items()
    }
    if isinstance(train, StoredShard):
        return Shard(train, eval_set=sets)
    if train.names is None:
        return Shard(
            train.X,
            train.y,
            train.qid,
            sample_weight=train.weight,
            position=train.position,
            propensity=train.propensity,
            eval_set=sets,
            row_numbers=train.row_numbers,
        )
    return Shard(_dataset(train), eval_set=sets, row_numbers=train.row_numbers)


def _eval_entry(rows: RowBatch) -> Any:
    if rows.names is None:
        return rows.X, rows.y, rows.qid
    return _dataset(replace(rows, weight=None, position=None, propensity=None))


def _dataset(rows: RowBatch) -> Dataset:
    return Dataset(
        rows.X,
        rows.y,
        rows.qid,
        feature_names=rows.names,
        sample_weight=rows.weight,
        position=rows.position,
        propensity=rows.propensity,
        absent=rows.absent,
        categories=rows.X.categories,
    )
