"""Where the driver and the workers of one attempt meet.

The driver listens; each worker takes its seat, which it proves to be entitled to by a token, and
tells where other workers reach it. Once all are there, everybody is told everybody's address. The
connections stay: finished steps, the model and errors come over them, and the end of one without a
word tells that its worker is gone. What is sent is JSON and bytes, never pickles.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from rankgrove.distributed.handshake import HandshakeError, introduce, welcome
from rankgrove.errors import RankgroveError

_HANDSHAKE_SECONDS = 30.0


class MeetingError(RankgroveError, ConnectionError):
    """A worker and the driver do not find one another, or one does not answer."""


@dataclass(frozen=True)
class Invitation:
    """What a worker needs to take its seat: where the driver listens, and the token."""

    host: str
    port: int
    token: bytes = field(repr=False)
    n_workers: int


@dataclass(frozen=True)
class Message:
    """One message: what it is, values that JSON can hold, and bytes.

    ``rank`` is the worker that sent it.
    """

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)
    payload: bytes = b""
    rank: int = -1

    def packed(self) -> bytes:
        """Return the message as bytes."""
        head = json.dumps({"kind": self.kind, **self.values}).encode()
        return len(head).to_bytes(8, "little") + head + self.payload

    @classmethod
    def unpacked(cls, data: bytes, rank: int = -1) -> Message:
        """Read a message from bytes."""
        end = 8 + int.from_bytes(data[:8], "little")
        values = json.loads(data[8:end])
        return cls(values.pop("kind"), values, data[end:], rank)


class Meeting(AbstractContextManager["Meeting"]):
    """The driver's side.

    Parameters
    ----------
    host : the address of this machine that workers can reach; nothing else is listened on
    n_workers : how many are awaited
    """

    def __init__(self, host: str, n_workers: int) -> None:
        family = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][0]
        self._listener = socket.create_server((host, 0), family=family, backlog=128)
        port = self._listener.getsockname()[1]
        self.invitation = Invitation(host, port, secrets.token_bytes(32), n_workers)
        self._arrived: queue.Queue[Message] = queue.Queue()
        self._seats: dict[int, Connection[bytes, bytes]] = {}
        self._closed = False
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def next(self, seconds: float) -> Message | None:
        """Return the next message of a worker; None if there is none for so long.

        Workers send ``joined`` first. ``gone`` comes when a connection has ended.
        """
        try:
            return self._arrived.get(timeout=seconds)
        except queue.Empty:
            return None

    def tell_all(self, message: Message) -> None:
        """Send a message to every worker; one that is gone says so by itself."""
        for seat in list(self._seats.values()):
            with contextlib.suppress(OSError):
                seat.send_bytes(message.packed())

    def close(self) -> None:
        """End all connections, which workers notice; may be called twice."""
        self._listener.close()
        with self._lock:
            self._closed = True
            for seat in self._seats.values():
                _shut(seat)

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _accept(self) -> None:
        self._listener.settimeout(1.0)
        while not self._closed:
            try:
                link, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # closed
                return
            threading.Thread(target=self._listen, args=(link,), daemon=True).start()

    def _listen(self, link: socket.socket) -> None:
        """Let one worker in, and pass on what it says until it is gone."""
        size, token = self.invitation.n_workers, self.invitation.token
        deadline = time.monotonic() + _HANDSHAKE_SECONDS
        try:
            rank = welcome(link, size, token, set(range(size)) - set(self._seats), deadline)
        except (HandshakeError, OSError):
            link.close()
            return
        connection = _connection(link)
        with self._lock:
            self._seats[rank] = connection
            if self._closed:
                _shut(connection)
        try:
            while True:
                self._arrived.put(Message.unpacked(connection.recv_bytes(), rank))
        except (OSError, EOFError):
            self._arrived.put(Message("gone", rank=rank))
            connection.close()


class Seat(AbstractContextManager["Seat"]):
    """A worker's side: its connection to the driver.

    Attributes
    ----------
    host : the address of this machine as the driver sees it, under which other workers reach it
    """

    def __init__(self, invitation: Invitation, rank: int) -> None:
        self._where = f"the driver at {invitation.host}:{invitation.port}"
        deadline = time.monotonic() + _HANDSHAKE_SECONDS
        try:
            link = socket.create_connection(
                (invitation.host, invitation.port), timeout=_HANDSHAKE_SECONDS
            )
            introduce(link, rank, invitation.n_workers, invitation.token, deadline)
        except (HandshakeError, OSError) as error:
            raise MeetingError(f"worker {rank} cannot reach {self._where}: {error}") from error
        self.host: str = link.getsockname()[0]
        self._connection = _connection(link)

    def say(self, kind: str, payload: bytes = b"", **values: Any) -> None:
        """Tell the driver something."""
        self._connection.send_bytes(Message(kind, values, payload).packed())

    def told(self, kind: str) -> bool:
        """Tell whether the driver has said something of this kind; nobody waits."""
        return self._connection.poll(0) and self.hear().kind == kind

    def hear(self) -> Message:
        """Wait for a message of the driver, who has the clock, or for its end."""
        try:
            return Message.unpacked(self._connection.recv_bytes())
        except (EOFError, OSError):
            raise MeetingError(f"{self._where} has closed the connection") from None

    def __exit__(self, *error: Any) -> None:
        self._connection.close()


def _connection(link: socket.socket) -> Connection[bytes, bytes]:
    """Make a connection for whole messages of a socket; small ones are sent at once."""
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    link.setblocking(True)
    return Connection(link.detach())


def _shut(connection: Connection[bytes, bytes]) -> None:
    """End a connection that another thread may be reading from, which closes it."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as link:
        link.shutdown(socket.SHUT_RDWR)
