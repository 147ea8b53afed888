"""The connections of one process: accepting, draining, stopping."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import math
import socket
from collections import OrderedDict
from collections.abc import Callable

from rankgrove.serving.connection_counts import DECLINE_SECONDS, ConnectionCounts
from rankgrove.serving.http_connection import HttpConnection
from rankgrove.serving.limits import BACKLOG, MAX_UNSENT, most_connections
from rankgrove.serving.listener import HANDSHAKE_SECONDS, stop_handshakes
from rankgrove.serving.service import Service

logger = logging.getLogger("rankgrove.serving")

DRAIN, CLOSE, ABORT = 1, 2, 3  # stages of a stop
_ACCEPT_PAUSE_SECONDS = 0.5
_LOG_SECONDS = 60.0  # between messages about too many connections


class HttpServer:
    """Serves HTTP/1.1 on a listening socket until it is stopped.

    A stop has stages. *Drain*: ``/ready`` answers 503 and each response ends its connection, but
    all requests are answered, for ``drain_seconds``. *Close*: no new connections, idle ones are
    closed, requests that have begun, and those of connections that brought none yet, are answered,
    for ``stop_seconds``. *Abort*: all are closed.

    Attributes
    ----------
    connections : those that are open, the one that was used last at the end
    large_bytes : bytes of large bodies that are held now
    owns_listener : whether no other process goes on listening on the socket: the end of one worker
        must not keep connections from the others
    counts : how many connections this and other workers have
    """

    def __init__(
        self,
        service: Service,
        listener: socket.socket,
        *,
        owns_listener: bool = True,
        counts: ConnectionCounts | None = None,
        drain_seconds: float = 0.0,
        stop_seconds: float = 30.0,
        access_log: bool = False,
    ) -> None:
        self.service = service
        self.access_log = access_log
        self.connections: OrderedDict[HttpConnection, None] = OrderedDict()
        self.large_bytes = 0
        self.owns_listener = owns_listener
        self.counts = counts or ConnectionCounts.alone()
        self._listener = listener
        self._drain_seconds = drain_seconds
        self._stop_seconds = stop_seconds
        self._stage = 0
        self._changed = asyncio.Event()
        self._opening: set[asyncio.Task[object]] = set()
        self._most_connections = most_connections()
        self._unsent: OrderedDict[HttpConnection, int] = OrderedDict()  # responses, by their age
        self._logged = -math.inf

    async def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Serve until ``stop``; ``on_ready`` is called when requests are answered."""
        loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self.service.start()
        loop.add_reader(self._listener, self._accept_or_decline)
        self._update_count()
        on_ready()
        await self._reach(lambda: self._stage >= DRAIN)
        self.counts.stop_accepting()
        self.service.draining = True
        drains = self._stage == DRAIN and self._drain_seconds > 0
        if drains:
            logger.info("draining for %g seconds", self._drain_seconds)
            await self._reach(lambda: self._stage >= CLOSE, self._drain_seconds)
        self.stop(CLOSE)
        if self.owns_listener:
            stop_handshakes(self._listener)
        if drains:
            await self._reach(lambda: self._stage >= ABORT, HANDSHAKE_SECONDS)
        loop.remove_reader(self._listener)
        await self._accept_waiting()
        self._listener.close()
        for connection in list(self.connections):
            connection.close_if_idle()
        await self._reach(lambda: self._stage >= ABORT or not self.connections, self._stop_seconds)
        cut = sum(not connection.idle for connection in self.connections)
        if cut:
            logger.warning("%d requests were not answered in time", cut)
        for connection in list(self.connections):
            connection.abort()
        self.service.close()

    def stop(self, stage: int) -> None:
        """Enter a stage of the stop, unless it or a later one was entered before."""
        self._stage = max(stage, self._stage)
        self._changed.set()

    def stop_sooner(self, stage: int) -> None:
        """Enter a stage of the stop, or the next one if it was entered before."""
        self.stop(max(stage, self._stage + 1))

    def forget(self, connection: HttpConnection) -> None:
        """Drop a connection that was lost."""
        self.connections.pop(connection, None)
        self._unsent.pop(connection, None)
        self._update_count()
        self._changed.set()

    def note_use(self, connection: HttpConnection) -> None:
        """Note that a response was written."""
        if connection in self.connections:  # else it is being closed
            self.connections.move_to_end(connection)

    def hold(self, connection: HttpConnection, n_bytes: int) -> None:
        """Count bytes that a client does not take; if there are too many, drop the oldest."""
        self._unsent.pop(connection, None)
        if n_bytes:
            self._unsent[connection] = n_bytes
        while len(self._unsent) > 1 and sum(self._unsent.values()) > MAX_UNSENT:
            oldest, _ = self._unsent.popitem(last=False)
            oldest.abort()
            self._log("clients do not read their responses: the oldest connections are closed")

    def _make_room(self) -> bool:
        """Close the connection that was unused for longest, if there is one that is not busy."""
        unused = (one for one in self.connections if one.idle)
        slow = (one for one in self.connections if not one.busy)
        oldest = next(unused, None) or next(slow, None)
        if oldest is None:
            return False
        del self.connections[oldest]  # it is lost a little later
        oldest.abort()
        self._log("too many connections: those unused for longest are closed")
        return True

    def _log(self, message: str) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._logged >= _LOG_SECONDS:
            self._logged = now
            logger.warning(message)

    def _update_count(self) -> None:
        if self._stage < DRAIN:
            self.counts.set(len(self.connections) + len(self._opening))

    async def _reach(self, condition: Callable[[], bool], seconds: float | None = None) -> None:
        """Wait until a condition holds or the time-out ends."""

        async def wait() -> None:
            while not condition():
                self._changed.clear()
                await self._changed.wait()

        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), seconds)

    def _accept_or_decline(self) -> None:
        """Accept one connection, or leave it to a worker that has fewer."""
        if self._stage < DRAIN and self.counts.should_decline():
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._listener)
            loop.call_later(DECLINE_SECONDS, self._accept_again)
        else:
            self._accept()

    def _accept(self) -> bool:
        """Accept one connection, if one waits; another process may take the next."""
        loop = asyncio.get_running_loop()
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE) and self._make_room():
                return False  # the reader is called again
            loop.remove_reader(self._listener)
            if error.errno != errno.EINVAL:  # the parent process has not ended the listening
                logger.error("cannot accept connections: %s", error.strerror)
                loop.call_later(_ACCEPT_PAUSE_SECONDS, self._accept_again)
            return False
        connection.setblocking(False)
        if connection.family != getattr(socket, "AF_UNIX", None):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opening = loop.create_task(
            loop.connect_accepted_socket(lambda: HttpConnection(self), connection)
        )
        self._opening.add(opening)
        if len(self.connections) + len(self._opening) > self._most_connections:
            self._make_room()
        opening.add_done_callback(self._opened)
        self._update_count()
        return True

    def _opened(self, opening: asyncio.Task[object]) -> None:
        self._opening.discard(opening)
        self._update_count()

    async def _accept_waiting(self) -> None:
        """Accept and read the waiting connections, which closing the listener would reset."""
        for _ in range(BACKLOG):
            if not self._accept():
                break
        await asyncio.gather(*self._opening, return_exceptions=True)
        for _ in range(2):  # the event loop looks at its sockets
            await asyncio.sleep(0)

    def _accept_again(self) -> None:
        if self._stage < CLOSE:
            asyncio.get_running_loop().add_reader(self._listener, self._accept_or_decline)
