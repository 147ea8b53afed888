"""Attempts at one fit, until one succeeds.

The driver starts one task per worker, hears of each finished step, and keeps its record. When a
worker is lost, it starts again with the workers that there are then, from the records it has: at
most the step under way is done twice, and the model has the bits that it would have had.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rankgrove import errors
from rankgrove._heard_warnings import HeardWarnings
from rankgrove.distributed.engine import Engine, Running, Source
from rankgrove.distributed.meeting import Meeting, Message
from rankgrove.distributed.worker import Job, grows_forests
from rankgrove.errors import RankgroveError, WorkerLost
from rankgrove.training.progress import Callback, FitProgress

_LOSSES_IN_A_ROW = 3
_GRACE_SECONDS = 3.0  # between hearing from others that a worker is gone, and hearing why
_TICK_SECONDS = 0.5


@dataclass
class Undertaking:
    """One fit on a cluster.

    Attributes
    ----------
    ranker : the estimator, as workers get it
    n_workers : at most; None: as many as there are
    job : what else workers need to know (see ``Job``)
    records : of the steps that are finished
    interrupted : whether Ctrl-C ended it early
    warnings : of the workers
    """

    engine: Engine
    sources: list[Source]
    ranker: Any
    n_workers: int | None
    job: Mapping[str, Any]
    records: list[bytes] = field(default_factory=list)
    interrupted: bool = False
    warnings: HeardWarnings = field(default_factory=HeardWarnings)

    def run(self, draw: Callback) -> bytes:
        """Return the model; workers that are lost on the way cost no more than a step."""
        progress = FitProgress(self.ranker, self.ranker.n_estimators)

        def on_step(message: Message) -> None:
            self.records.append(message.payload)
            progress.iteration = message.values["step"]
            progress.n_estimators = message.values["planned"]
            for name, metrics in message.values["metrics"].items():
                for metric, value in metrics.items():
                    history = progress.evals_result.setdefault(name, {})
                    history.setdefault(metric, []).append(value)
            draw(progress)

        losses = 0
        while True:
            n_before = len(self.records)
            try:
                return self._attempt(on_step)
            except WorkerLost as loss:
                losses = 1 if len(self.records) > n_before else losses + 1
                if losses == _LOSSES_IN_A_ROW:
                    raise
                warnings.warn(
                    f"{loss}; the fit goes on after step {len(self.records)}",
                    RuntimeWarning,
                    stacklevel=3,
                )

    def _attempt(self, on_step: Callable[[Message], None]) -> bytes:
        n_workers = self.engine.n_workers(self.n_workers)
        with Meeting(self.engine.host(), n_workers) as meeting:
            job = Job(
                ranker=self.ranker,
                records=tuple(self.records),
                invitation=meeting.invitation,
                **self.job,
            )
            running = self.engine.start(job, self.sources)
            attendance = _Attendance(meeting, running, job.patience, on_step, self.warnings)
            try:
                return attendance.model()
            except KeyboardInterrupt:
                if not self.records or grows_forests(self.ranker):
                    raise
                self.interrupted = True
                meeting.tell_all(Message("stop"))
                return attendance.model()
            finally:
                meeting.close()
                running.stop()


class _Attendance:
    """What the driver knows of the workers of one attempt."""

    def __init__(
        self,
        meeting: Meeting,
        running: Running,
        patience: float,
        on_step: Callable[[Message], None],
        warnings: HeardWarnings,
    ) -> None:
        self._warnings = warnings
        self._meeting = meeting
        self._running = running
        self._patience = patience
        self._on_step = on_step
        n_workers = meeting.invitation.n_workers
        self._names = [f"worker {rank}" for rank in range(n_workers)]
        self._last_heard = [time.monotonic()] * n_workers
        self._ready: set[int] = set()
        self._ended: set[int] = set()
        self._address = ""
        self._suspicion: tuple[float, Message] | None = None

    def model(self) -> bytes:
        """Listen to the workers until one has the model."""
        while True:
            message = self._meeting.next(_TICK_SECONDS)
            if message is None:
                self._look_around()
                continue
            self._last_heard[message.rank] = time.monotonic()
            if message.kind == "model":
                return message.payload
            self._hear(message)

    def _hear(self, message: Message) -> None:
        rank, values = message.rank, message.values
        if message.kind == "joined":
            self._names[rank] = f"worker {rank} ({values['host']}, process {values['process']})"
        elif message.kind == "ready":
            self._ready.add(rank)
            self._address = values.get("address", self._address)
            if len(self._ready) == len(self._names):
                self._meeting.tell_all(Message("begin", {"address": self._address}))
        elif message.kind == "step":
            self._on_step(message)
        elif message.kind == "warning":
            self._warnings.hear(self._names[rank], values["category"], values["text"])
        elif message.kind == "done":
            self._ended.add(rank)
        elif message.kind == "error":
            self._ended.add(rank)
            if values["error"] in ("WorkerLost", "WorkerFailed"):
                self._suspicion = self._suspicion or (time.monotonic() + _GRACE_SECONDS, message)
            else:
                raise _error(message, self._names[rank])
        elif message.kind == "gone" and rank not in self._ended:
            raise WorkerLost(f"{self._names[rank]} is gone", rank)

    def _look_around(self) -> None:
        """Look for what workers cannot tell."""
        self._running.check()
        now = time.monotonic()
        if self._suspicion is not None and now > self._suspicion[0]:
            message = self._suspicion[1]
            raise _error(message, self._names[message.rank])
        if len(self._ready) == len(self._names):
            return  # now they watch one another
        for rank, name in enumerate(self._names):
            if rank not in self._ready and now - self._last_heard[rank] > self._patience:
                raise WorkerLost(f"{name} said nothing for {self._patience:g} seconds", rank)


_RAISED_AGAIN = {
    error.__name__: error for error in (errors.DataError, errors.ModelError, ValueError, TypeError)
}


def _error(message: Message, name: str) -> Exception:
    """Return the error of a worker as the driver raises it."""
    kind, text = message.values["error"], message.values["text"]
    if kind in ("WorkerLost", "WorkerFailed"):
        return WorkerLost(text, message.values["about"])
    if kind in _RAISED_AGAIN:
        return _RAISED_AGAIN[kind](text)
    return RankgroveError(f"{name} ended with {kind}: {text}")
