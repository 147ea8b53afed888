"""A process that answers requests, and the pool that starts several of them.

The processes of a pool share one listening socket, and each tells the others how many connections
it has (see ``connection_counts``). Each is connected to the parent by a pipe:
through it the worker says that it is ready, or why it is not, and the parent which stage of the
stop is reached; its end tells the worker that the parent is gone. A signal to a worker itself only
begins its draining, since service managers send SIGTERM to all processes of a service at once; the
socket stays open for the others, and for the worker that replaces it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import multiprocessing
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from rankgrove.errors import ModelError, RankgroveError
from rankgrove.serving.connection_counts import ConnectionCounts
from rankgrove.serving.http_server import CLOSE, DRAIN, HttpServer
from rankgrove.serving.listener import HANDSHAKE_SECONDS, stop_handshakes
from rankgrove.serving.settings import Settings, start_log
from rankgrove.serving.shared_metrics import end_metrics, reserve_metrics

logger = logging.getLogger("rankgrove.serving")

_STAGES = {signal.SIGTERM: DRAIN, signal.SIGINT: CLOSE}
_READY = ""  # a worker's first message; else it is the error
_RESTART_SECONDS = _RETRY_SECONDS = 1.0
_END_SECONDS = 1.0
_KILL_SECONDS = 10.0  # after the time in which a worker should have stopped


def run_server(
    server: HttpServer, on_ready: Callable[[], None], parent: Connection | None = None
) -> None:
    """Answer requests in this process, until SIGTERM, SIGINT or the end of the parent."""
    loop = _new_event_loop()

    def call(stop: Callable[[int], None], stage: int) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(stop, stage)

    def obey(parent: Connection) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                call(server.stop, parent.recv())
        server.owns_listener = True  # the parent is gone: nobody else ends the listening
        call(server.stop, CLOSE)

    numbers, stop = [signal.SIGTERM], server.stop
    if parent is None:
        numbers.append(signal.SIGINT)
        stop = server.stop_sooner
    else:
        threading.Thread(target=obey, args=(parent,), daemon=True).start()
    with _restoring(*numbers), contextlib.closing(loop):
        for number in numbers:  # through the loop: a signal wakes it whichever thread receives it
            loop.add_signal_handler(number, stop, _STAGES[number])
        loop.run_until_complete(server.run(on_ready))


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.SelectorEventLoop()
    return uvloop.new_event_loop()


@contextmanager
def _restoring(*numbers: signal.Signals) -> Iterator[None]:
    """Give signals their former handlers back at the end of the block."""
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextmanager
def _handling(
    handle: Callable[[signal.Signals], None], *numbers: signal.Signals
) -> Iterator[socket.socket]:
    """Handle signals while the block runs; the socket is readable once one has arrived.

    The kernel may hand a signal to any thread (after a pause of the process, say), but handlers of
    Python run in the main thread, which may be waiting: it must wait for this socket, too.
    """

    def handler(number: int, frame: Any) -> None:
        handle(signal.Signals(number))

    woken, waker = socket.socketpair()
    woken.setblocking(False)
    waker.setblocking(False)
    with woken, waker, _restoring(*numbers):
        former_waker = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, handler)
        try:
            yield woken
        finally:
            signal.set_wakeup_fd(former_waker)


def _work(
    settings: Settings,
    listener: socket.socket,
    counts: ConnectionCounts,
    parent: Connection,
    replaces_another: bool,
) -> None:
    """Run a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all, and the parent passes it on
    start_log()
    server = _patient_server if replaces_another else _server
    if (made := server(settings, listener, counts, parent)) is not None:
        run_server(made, lambda: parent.send(_READY), parent)


def _server(
    settings: Settings, listener: socket.socket, counts: ConnectionCounts, parent: Connection
) -> HttpServer | None:
    """Load the models and return a server; report a failure to the parent."""
    try:
        reserve_metrics(len(settings.models))
        return settings.server(listener, counts)
    except (RankgroveError, OSError, MemoryError) as error:
        parent.send(str(error) or type(error).__name__)
        return None


def _patient_server(
    settings: Settings, listener: socket.socket, counts: ConnectionCounts, parent: Connection
) -> HttpServer | None:
    """Load the models, as soon as their files are sound, while other workers answer with the old.

    None if the parent stops the server before.
    """
    reported = ""
    while True:
        try:
            reserve_metrics(len(settings.models))
            return settings.server(listener, counts)
        except (RankgroveError, OSError, MemoryError) as error:
            problem = str(error) or type(error).__name__
        if problem != reported:
            reported = problem
            logger.error("a new worker waits, it cannot start: %s", problem)
        if parent.poll(_RETRY_SECONDS):
            return None


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    ready: bool = False


class WorkerPool:
    """Starts worker processes, replaces those that end, and stops them."""

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        self._settings = settings
        self._listener = listener
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._numbers = self._context.RawArray("q", settings.workers)  # of connections
        self._signals: list[signal.Signals] = []
        self._stage = 0

    def run(self, on_ready: Callable[[], None]) -> None:
        """Run until SIGTERM or SIGINT; ``on_ready`` is called when all workers are ready."""
        with _handling(self._signals.append, signal.SIGTERM, signal.SIGINT) as woken:
            try:
                self._workers = [self._start(place) for place in range(self._settings.workers)]
                self._supervise(woken, on_ready)
                self._stop(woken)
            finally:
                for worker in self._workers:
                    worker.process.kill()
                    worker.process.join()

    def _start(self, place: int, replaces_another: bool = False) -> _Worker:
        counts = ConnectionCounts(self._numbers, place)
        counts.stop_accepting()  # until the worker is ready, or as another has ended
        ours, theirs = self._context.Pipe()
        arguments = (self._settings, self._listener, counts, theirs, replaces_another)
        process = self._context.Process(target=_work, args=arguments)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _supervise(self, woken: socket.socket, on_ready: Callable[[], None]) -> None:
        """Supervise the workers until a signal arrives."""
        announced = False
        while not self._signals:
            starting = [worker.pipe for worker in self._workers if not worker.ready]
            events = wait([woken, *starting, *(w.process.sentinel for w in self._workers)])
            for place, worker in enumerate(self._workers):
                if worker.process.sentinel in events:
                    self._workers[place] = self._replace(place, announced)
                elif worker.pipe in events:
                    self._receive_readiness(worker, announced)
            if not announced and all(worker.ready for worker in self._workers):
                announced = True
                on_ready()

    def _receive_readiness(self, worker: _Worker, announced: bool) -> None:
        """Take the first message of a worker, or the end of one that could not send it."""
        try:
            problem = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(_END_SECONDS)
            return
        if problem:
            raise ModelError(problem)
        worker.ready = True
        if announced:
            logger.info("worker %d is ready", worker.process.pid)

    def _replace(self, place: int, announced: bool) -> _Worker:
        worker = self._workers[place]
        process = worker.process
        process.join()
        if not announced:
            raise OSError(f"a worker process ended at its start, with code {process.exitcode}")
        end_metrics(process.pid or 0)
        logger.error(
            "worker %d ended with code %d: starting another", process.pid, process.exitcode
        )
        if not worker.ready:
            time.sleep(_RESTART_SECONDS)
        worker.pipe.close()
        return self._start(place, replaces_another=True)

    def _stop(self, woken: socket.socket) -> None:
        """Pass signals on until all workers have ended."""
        drain = self._settings.drain_seconds if self._signals[0] == signal.SIGTERM else 0.0
        closing = time.monotonic() + drain
        killing = closing + self._settings.stop_seconds + _KILL_SECONDS
        refusing = math.inf  # when connections are refused, once no new ones begin
        while alive := [w.process.sentinel for w in self._workers if w.process.is_alive()]:
            for number in self._signals:
                self._stage = max(_STAGES[number], self._stage + 1)
            now = time.monotonic()
            if now >= killing:
                logger.error("workers did not stop in time and are killed")
                return
            if refusing == math.inf and (now >= closing or self._stage >= CLOSE):
                stop_handshakes(self._listener)  # before workers look for the last connections
                refusing = now + HANDSHAKE_SECONDS
            if self._signals:
                self._signals.clear()
                self._send_stage()
            if now >= refusing:
                self._refuse_connections()
            next_step = min(time for time in (closing, refusing, killing) if time > now)
            if woken in wait([woken, *alive], next_step - now):
                woken.recv(100)

    def _send_stage(self) -> None:
        for worker in self._workers:
            with contextlib.suppress(OSError):  # it has ended
                worker.pipe.send(self._stage)

    def _refuse_connections(self) -> None:
        """Close the listening socket in all processes, so that no new connection waits."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
