"""Connections between the driver and the workers of one attempt at a cluster fit.

The driver listens; each worker joins with the token of its ticket. The connections stay open: the
workers send heartbeats, finished steps, the model and errors over them, and the end of a connection
says that its worker is gone.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import socket
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from rankgrove.distributed.handshake import HANDSHAKE_SECONDS, HandshakeError, connect, keep_alive
from rankgrove.distributed.join_listener import JoinListener
from rankgrove.distributed.messages import Message, MessageKind
from rankgrove.errors import RankgroveError


class DriverLinkError(RankgroveError, ConnectionError):
    """A worker and the driver cannot connect, or one of them does not answer."""


@dataclass(frozen=True)
class JoinTicket:
    """What a worker needs to join: the address of the driver's hub, and the token."""

    host: str
    port: int
    token: bytes = field(repr=False)
    n_workers: int


class DriverHub(AbstractContextManager["DriverHub"]):
    """The driver's end of the connections to all workers.

    Parameters
    ----------
    host : the address of this machine that workers can reach; nothing else is listened on
    n_workers : number of workers that may join
    """

    def __init__(self, host: str, n_workers: int) -> None:
        family = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, 0), family=family, backlog=128)
        token = secrets.token_bytes(32)
        self.ticket = JoinTicket(host, listener.getsockname()[1], token, n_workers)
        self._received: queue.Queue[Message] = queue.Queue()
        self._connections: dict[int, Connection[bytes, bytes]] = {}
        self._closed = False
        self._lock = threading.Lock()
        self._listener = JoinListener(listener, range(n_workers), n_workers, token, self._receive)

    def next(self, seconds: float) -> Message | None:
        """Return the next message of a worker; None if there is none within these seconds.

        Workers send ``JOINED`` first. ``GONE`` comes when a connection has ended.
        """
        try:
            return self._received.get(timeout=seconds)
        except queue.Empty:
            return None

    def broadcast(self, message: Message) -> None:
        """Send a message to every worker; those that are gone are skipped."""
        for connection in list(self._connections.values()):
            with contextlib.suppress(OSError):
                connection.send_bytes(message.packed())

    def close(self) -> None:
        """End all connections, which workers notice; may be called twice."""
        self._listener.close()
        with self._lock:
            self._closed = True
            for connection in self._connections.values():
                _shut_down(connection)

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _receive(self, rank: int, link: socket.socket, address: str) -> None:
        """Queue the messages of one worker until its connection ends."""
        connection = _connection(link)
        with self._lock:
            self._connections[rank] = connection
            if self._closed:
                _shut_down(connection)
        try:
            while True:
                self._received.put(Message.unpacked(connection.recv_bytes(), rank))
        except (OSError, EOFError):
            self._received.put(Message(MessageKind.GONE, rank=rank))
            connection.close()


class WorkerLink(AbstractContextManager["WorkerLink"]):
    """A worker's end of its connection to the driver.

    Parameters
    ----------
    heartbeat : seconds between heartbeats, which a background thread sends

    Attributes
    ----------
    host : the address of this machine as the driver sees it, under which other workers reach it
    """

    def __init__(self, ticket: JoinTicket, rank: int, heartbeat: float = 5.0) -> None:
        self._where = f"the driver at {ticket.host}:{ticket.port}"
        try:
            link = connect(
                ticket.host,
                ticket.port,
                rank,
                ticket.n_workers,
                ticket.token,
                HANDSHAKE_SECONDS,
                listens=True,  # a task that starts after its fit must not keep the next one waiting
            )
        except (HandshakeError, OSError) as error:
            raise DriverLinkError(f"worker {rank} cannot reach {self._where}: {error}") from error
        self.host: str = link.getsockname()[0]
        keep_alive(link)
        self._connection = _connection(link)
        self._sending = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._send_heartbeats, args=(heartbeat,), daemon=True).start()

    def send(self, kind: MessageKind, payload: bytes = b"", **values: Any) -> None:
        """Send a message to the driver."""
        with self._sending:
            self._connection.send_bytes(Message(kind, values, payload).packed())

    def has_received(self, kind: MessageKind) -> bool:
        """Return whether the driver has sent a message of this kind; do not wait."""
        return self._connection.poll(0) and self.receive().kind is kind

    def receive(self) -> Message:
        """Block until the driver sends a message or hangs up (time-outs are the driver's)."""
        try:
            return Message.unpacked(self._connection.recv_bytes())
        except (EOFError, OSError):
            raise DriverLinkError(f"{self._where} has closed the connection") from None

    def _send_heartbeats(self, seconds: float) -> None:
        with contextlib.suppress(OSError):  # the driver is gone, which receive reports
            while not self._closed.wait(seconds):
                self.send(MessageKind.ALIVE)

    def __exit__(self, *error: Any) -> None:
        self._closed.set()
        with self._sending:
            self._connection.close()


def _connection(link: socket.socket) -> Connection[bytes, bytes]:
    """Turn a socket into a connection that sends and receives whole messages."""
    link.setblocking(True)
    return Connection(link.detach())


def _shut_down(connection: Connection[bytes, bytes]) -> None:
    """End a connection that another thread may be reading from, which closes it."""
    with contextlib.suppress(OSError):
        link = socket.socket(fileno=connection.fileno())
        try:
            link.shutdown(socket.SHUT_RDWR)
        finally:
            link.detach()
