"""What each worker of a fit does, whatever engine has started it."""

from __future__ import annotations

import contextlib
import hmac
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankgrove._heard_warnings import warnings_told
from rankgrove.data.core.dataset import Dataset
from rankgrove.distributed.crew import TreeSharing, all_rows
from rankgrove.distributed.fitting import fit_shard
from rankgrove.distributed.joining import Hub, join
from rankgrove.distributed.meeting import Invitation, Seat
from rankgrove.distributed.parts import Part, Rows, read_part
from rankgrove.distributed.shard import Shard
from rankgrove.distributed.whole_queries import Located, whole_queries
from rankgrove.forests.growing import grown_by
from rankgrove.rankers.base.fitting import FitOptions
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.broof import BROOF
from rankgrove.rankers.igbrt import IGBRT
from rankgrove.training.fit_workers import FitWorkers
from rankgrove.training.journal import Journal
from rankgrove.workers.communicator import Communicator

# What a record of a ranker that grows forests is of: a round of trees, or a boosted tree.
_ROUND, _STEP = b"r", b"s"


@dataclass(frozen=True)
class Job:
    """A fit as all workers get it.

    Attributes
    ----------
    ranker : the estimator, not fitted
    reading : of each data set (first the training data), the options by which parts are read
    watched : names of the sets to be watched, and the number of the data set of each
    fit_options : options of ``fit`` that are the same on all workers
    split_queries : ``"gather"`` or ``"refuse"``
    patience : seconds that workers wait for each other
    records : of the steps that are finished already
    """

    ranker: Any
    reading: Sequence[Mapping[str, Any]]
    watched: Mapping[str, int]
    fit_options: Mapping[str, Any]
    split_queries: str
    patience: float
    records: Sequence[bytes]
    invitation: Invitation


def work(job: Job, rank: int, sets: Sequence[Sequence[Part]], n_threads: int) -> None:
    """Take part in a fit, with a share of each data set; how it ends, the driver is told."""
    with Seat(job.invitation, rank) as seat:
        try:
            seat.say("joined", rank=rank, host=seat.host, process=os.getpid())
            with warnings_told(lambda kind, text: seat.say("warning", category=kind, text=text)):
                _work(job, rank, sets, n_threads, seat)
            seat.say("done")
        except Exception as error:  # whatever it is, the driver raises it, if it is still there
            about = getattr(error, "rank", None)
            with contextlib.suppress(OSError):
                seat.say("error", error=type(error).__name__, text=str(error), about=about)


def _work(job: Job, rank: int, sets: Sequence[Sequence[Part]], n_threads: int, seat: Seat) -> None:
    ranker = job.ranker
    if ranker.n_jobs is None:
        ranker.set_params(n_jobs=n_threads)
    ranker.set_params(verbose=0)
    located = [
        [_read(part, options, ranker.n_jobs, seat) for part in parts]
        for parts, options in zip(sets, job.reading, strict=True)
    ]
    with _connected(job, rank, seat) as communicator:
        held = [whole_queries(parts, communicator, job.split_queries) for parts in located]
        located.clear()
        fitted = _fit(job, ranker, held, communicator, seat)
        if rank == 0:
            from rankgrove.formats.container import to_bytes

            seat.say("model", to_bytes(fitted, named=False))


def grows_forests(ranker: Any) -> bool:
    """Tell whether a ranker needs all documents in one place, and grows trees that are shared."""
    return isinstance(ranker, ForestRanker | BROOF | IGBRT)


def _fit(job: Job, ranker: Any, held: list[Rows], communicator: Communicator, seat: Seat) -> Any:
    if not grows_forests(ranker):

        def on_step(step: int, record: bytes, metrics: Any) -> bool:
            seat.say("step", record, step=step, planned=ranker.n_estimators, metrics=metrics)
            return seat.told("stop")

        return fit_shard(
            ranker,
            _shard(held, job.watched),
            communicator,
            fit_options=job.fit_options,
            resume=job.records,
            on_step=on_step,
        )

    held[:] = [all_rows(rows, communicator) for rows in held]
    whole = _shard(held, job.watched)
    rounds, steps = (
        [record[1:] for record in job.records if record[:1] == kind] for kind in (_ROUND, _STEP)
    )
    n_forest, n_planned = _planned_trees(ranker)

    def on_round(n_trees: int, record: bytes) -> None:
        if communicator.rank == 0:
            seat.say("step", _ROUND + record, step=n_trees, planned=n_planned, metrics={})

    def on_boosted(step: int, record: bytes, metrics: Any) -> None:
        seat.say("step", _STEP + record, step=n_forest + step, planned=n_planned, metrics=metrics)

    journal = Journal()
    if isinstance(ranker, IGBRT):  # all workers boost, to the same bits
        journal = Journal(steps, on_boosted if communicator.rank == 0 else None, keeps=True)
    with grown_by(TreeSharing(communicator, ranker.n_jobs, rounds, on_round)):
        options = FitOptions(whole.watched(), **job.fit_options)
        return ranker._fit(whole.given(), options, FitWorkers(journal=journal))


def _planned_trees(ranker: Any) -> tuple[int, int]:
    """Return how many trees forests have, and how many there are with those that are boosted."""
    if isinstance(ranker, IGBRT):
        n_forest = ranker.n_grown_trees()
        return n_forest, n_forest + int(ranker.n_estimators)
    n_trees = int(ranker.n_estimators) * int(getattr(ranker, "n_trees", 1))
    return n_trees, n_trees


def _read(part: Part, options: Mapping[str, Any], n_jobs: int | None, seat: Seat) -> Located:
    located = Located.of(part, read_part(part, options, n_jobs))
    seat.say("read", part=part.name)
    return located


def _connected(job: Job, rank: int, seat: Seat) -> Communicator:
    """Say that this worker is ready, and connect it with the others once all are."""
    size = job.invitation.n_workers
    token = hmac.digest(job.invitation.token, b"communicator", "sha256")
    if rank == 0:
        hub = Hub(seat.host)
        seat.say("ready", address=hub.address)
        seat.hear()
        return hub.accept(size, token, patience=job.patience)
    seat.say("ready")
    address = seat.hear().values["address"]
    return join(address, rank, size, token, patience=job.patience)


def _shard(held: Sequence[Rows], watched: Mapping[str, int]) -> Shard:
    train = held[0]
    sets = {name: _watched(held[number]) if number else "train" for name, number in watched.items()}
    if train.names is None:
        return Shard(train.X, train.y, train.qid, sample_weight=train.weight, eval_set=sets)
    return Shard(_dataset(train, train.weight), eval_set=sets)


def _watched(rows: Rows) -> Any:
    return (rows.X, rows.y, rows.qid) if rows.names is None else _dataset(rows, None)


def _dataset(rows: Rows, weight: Any) -> Dataset:
    return Dataset(
        rows.X,
        rows.y,
        rows.qid,
        feature_names=rows.names,
        sample_weight=weight,
        absent=rows.absent,  # type: ignore[arg-type]
    )
