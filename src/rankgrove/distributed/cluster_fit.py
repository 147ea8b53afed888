"""One fit on a cluster: attempts that resume from the records of earlier ones until one succeeds.

The driver starts one task per worker, and keeps the record of each finished step. When a worker is
lost, it starts another attempt with the workers that are left, from these records: at most the step
that was running is computed again, and the model has the same bits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rankgrove import errors
from rankgrove._warning_relay import WarningRelay
from rankgrove.distributed.driver_hub import DriverHub
from rankgrove.distributed.engine import DataSource, Engine, NoWorkersError, RunningTasks
from rankgrove.distributed.messages import Message, MessageKind
from rankgrove.distributed.worker import FitTask
from rankgrove.errors import RankgroveError, WorkerLost
from rankgrove.training.progress import Callback, FitProgress

_LOSSES_IN_A_ROW = 3
_GRACE_SECONDS = 3.0  # between a worker's report that another is lost, and believing it
_TICK_SECONDS = 0.5
_PAUSE_SECONDS = 5.0  # between two turns of the loop: this process was stopped


@dataclass
class ClusterFit:
    """One fit on a cluster.

    Attributes
    ----------
    ranker : the estimator that is sent to the workers
    n_workers : at most; None: as many as there are
    task : the other fields of a ``FitTask``
    attempts : number of attempts that were begun
    records : those of the steps that are finished
    interrupted : whether Ctrl-C ended the fit early
    warnings : relays those of the workers
    """

    engine: Engine
    sources: list[DataSource]
    ranker: Any
    n_workers: int | None
    task: Mapping[str, Any]
    attempts: int = 0
    records: list[bytes] = field(default_factory=list)
    interrupted: bool = False
    warnings: WarningRelay = field(default_factory=WarningRelay)

    def run(self, draw: Callback) -> bytes:
        """Return the model file; a lost worker costs no more than the running step."""
        progress = FitProgress(self.ranker, sum(self.ranker.planned_trees()))

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
            except KeyboardInterrupt:  # before the workers of this attempt have started
                if not self._can_end_early():
                    raise
                self.interrupted = True
            except WorkerLost as loss:
                if self.task["bin_error"]:  # other workers would find other bins
                    self.records.clear()
                    n_before = 0
                if self.interrupted and not self.records:
                    raise KeyboardInterrupt from loss
                losses = 1 if len(self.records) > n_before else losses + 1
                if losses == _LOSSES_IN_A_ROW:
                    raise
                warnings.warn(
                    f"{loss}; the fit goes on after step {len(self.records)}",
                    RuntimeWarning,
                    stacklevel=3,
                )

    def _attempt(self, on_step: Callable[[Message], None]) -> bytes:
        n_workers = self._available_workers()
        with DriverHub(self.engine.host(), n_workers) as hub:
            task = FitTask(
                ranker=self.ranker,
                records=tuple(self.records),
                ticket=hub.ticket,
                **self.task,
            )
            running = self.engine.start(task, self.sources)
            attempt = Attempt(hub, running, task.patience, on_step, self.warnings)
            try:
                return self._model(attempt)
            except WorkerLost as loss:
                running.exclude(loss.rank)
                raise
            finally:
                hub.close()
                running.stop()

    def _available_workers(self) -> int:
        """Return how many workers take part; after a loss, wait up to ``patience`` for the first.

        An engine may need a moment to replace its last worker.
        """
        deadline = time.monotonic() + (self.task["patience"] if self.attempts else 0.0)
        self.attempts += 1
        while True:
            try:
                return self.engine.n_workers(self.n_workers)
            except NoWorkersError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_TICK_SECONDS)

    def _model(self, attempt: Attempt) -> bytes:
        """Return the model of an attempt, which the first Ctrl-C ends after the current step."""
        if self.interrupted:
            attempt.end_early()
        try:
            return attempt.model()
        except KeyboardInterrupt:
            if not self._can_end_early():
                raise
            self.interrupted = True
            attempt.end_early()
            return attempt.model()

    def _can_end_early(self) -> bool:
        """Return whether Ctrl-C keeps finished steps: not the second one, nor that of a forest."""
        n_forest, _ = self.ranker.planned_trees()
        return bool(self.records) and not n_forest and not self.interrupted


class Attempt:
    """The driver's view of the workers of one attempt.

    A worker is lost if its connection ends, if it sends no heartbeat for ``patience`` seconds, or
    if it makes no progress with reading for so long. After that, workers wait for each other with
    the same time-out, and report who is missing.
    """

    def __init__(
        self,
        hub: DriverHub,
        running: RunningTasks,
        patience: float,
        on_step: Callable[[Message], None],
        warnings: WarningRelay,
    ) -> None:
        self._hub = hub
        self._running = running
        self._patience = patience
        self._on_step = on_step
        self._warnings = warnings
        n_workers = hub.ticket.n_workers
        self._names = [f"worker {rank}" for rank in range(n_workers)]
        self._last_heard = [time.monotonic()] * n_workers
        self._last_progress = [time.monotonic()] * n_workers
        self._ready: set[int] = set()
        self._ends_early = False
        self._ended: set[int] = set()
        self._address = ""
        self._reported_loss: tuple[float, Message] | None = None
        self._next_check = 0.0
        self._last_turn = time.monotonic()

    def model(self) -> bytes:
        """Handle messages of the workers until one sends the model."""
        while True:
            message = self._hub.next(_TICK_SECONDS)
            self._skip_own_pause()
            if message is not None:
                self._last_heard[message.rank] = time.monotonic()
                if message.kind is not MessageKind.ALIVE:
                    self._last_progress[message.rank] = time.monotonic()
                if message.kind is MessageKind.MODEL:
                    return message.payload
                self._handle(message)
            if message is None or time.monotonic() > self._next_check:
                self._check_workers()
                self._next_check = time.monotonic() + _TICK_SECONDS

    def end_early(self) -> None:
        """Let the workers end the fit after the next step, or after the first one to come."""
        self._ends_early = True
        if self._have_begun():
            self._hub.broadcast(Message(MessageKind.STOP))

    def _have_begun(self) -> bool:
        return len(self._ready) == len(self._names)

    def _skip_own_pause(self) -> None:
        """Extend time-outs by the time in which this process itself was suspended."""
        now = time.monotonic()
        pause = now - self._last_turn
        if pause > _PAUSE_SECONDS:
            self._last_heard = [last + pause for last in self._last_heard]
            self._last_progress = [last + pause for last in self._last_progress]
        self._last_turn = now

    def _handle(self, message: Message) -> None:
        rank, values = message.rank, message.values
        if message.kind is MessageKind.JOINED:
            self._names[rank] = f"worker {rank} ({values['host']}, process {values['process']})"
        elif message.kind is MessageKind.READY:
            self._ready.add(rank)
            self._address = values.get("address", self._address)
            if self._have_begun():
                self._hub.broadcast(Message(MessageKind.BEGIN, {"address": self._address}))
                if self._ends_early:
                    self._hub.broadcast(Message(MessageKind.STOP))
        elif message.kind is MessageKind.STEP:
            self._on_step(message)
        elif message.kind is MessageKind.WARNING:
            self._warnings.relay(self._names[rank], values["category"], values["text"])
        elif message.kind is MessageKind.DONE:
            self._ended.add(rank)
        elif message.kind is MessageKind.ERROR:
            self._ended.add(rank)
            if values["error"] in ("WorkerLost", "WorkerFailed"):
                deadline = time.monotonic() + _GRACE_SECONDS
                self._reported_loss = self._reported_loss or (deadline, message)
            else:
                raise _error(message, self._names[rank])
        elif message.kind is MessageKind.GONE and rank not in self._ended:
            raise WorkerLost(f"{self._names[rank]} is gone", rank)

    def _check_workers(self) -> None:
        """Raise for losses that no message announces."""
        self._running.check()
        now = time.monotonic()
        if self._reported_loss is not None and now > self._reported_loss[0]:
            message = self._reported_loss[1]
            raise _error(message, self._names[message.rank])
        for rank, name in enumerate(self._names):
            if rank in self._ended:
                continue
            last = self._last_heard if rank in self._ready else self._last_progress
            if now - last[rank] > self._patience:
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
        return _RAISED_AGAIN[kind](f"{name}: {text}")
    return RankgroveError(f"{name} ended with {kind}: {text}")
