"""Mutual authentication of two workers by a shared token, before anything else is read.

All messages have a fixed length, so that strangers cannot make us allocate or wait for more:

    hub      -> worker : magic, challenge
    worker   -> hub    : magic, challenge, rank, size, HMAC(token, "worker", all of these)
    hub      -> worker : verdict, HMAC(token, "hub", all of these and the verdict)

The hub answers a wrong proof with zeros: it proves nothing to a stranger.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
import time
from collections.abc import Callable

HANDSHAKE_SECONDS = 30.0
"""Time-out of one handshake."""
_RETRY_SECONDS = 0.05

_MAGIC = b"rankgrv2" + struct.pack("=I", 0x01020304)  # the byte order must be the same, too
_CHALLENGE = 32
_PROOF = 32
_WHO = struct.Struct("!II")
_LENGTH = struct.Struct("!I")
_HELLO = len(_MAGIC) + _CHALLENGE
_CLAIM = _HELLO + _WHO.size + _PROOF

WELCOME, UNKNOWN, OTHER_SIZE, TAKEN = range(4)
_REFUSALS = {
    OTHER_SIZE: "it expects another number of workers than {size}",
    TAKEN: "worker {rank} has joined already, or there is none of that number",
}


class HandshakeError(Exception):
    """The other side refuses this one, or is not a worker of this fit; trying again is useless."""


def token_of(token: bytes, rank: int) -> bytes:
    """Return the token with which one joins the worker of this rank, and no other one."""
    return hmac.digest(token, b"worker %d" % rank, "sha256")


def check_token(token: bytes) -> bytes:
    """Return the token, which must be bytes that cannot be guessed."""
    if not isinstance(token, bytes) or len(token) < 16:
        raise ValueError("token must be at least 16 secret bytes: secrets.token_bytes(32)")
    return token


def welcome(
    link: socket.socket, size: int, token: bytes, claim: Callable[[int], bool], deadline: float
) -> int:
    """Run the hub's side; return the rank of the worker, which has proved to know the token.

    ``claim(rank)`` reserves a rank for it, or returns False if that is not free.
    """
    hello = _MAGIC + secrets.token_bytes(_CHALLENGE)
    _send(link, hello, deadline)
    answer = _receive(link, _CLAIM, deadline)
    said, proof = answer[:-_PROOF], answer[-_PROOF:]
    known = hmac.compare_digest(proof, _proof(token, b"worker", hello, said))
    if not known or not said.startswith(_MAGIC):
        _send(link, bytes([UNKNOWN]) + bytes(_PROOF), deadline)
        raise HandshakeError("it does not know the token")
    rank, its_size = _WHO.unpack(said[_HELLO:])
    verdict = OTHER_SIZE if its_size != size else WELCOME if claim(rank) else TAKEN
    _send(
        link,
        bytes([verdict]) + _proof(token, b"hub", hello, said, bytes([verdict])),
        deadline,
    )
    if verdict != WELCOME:
        raise HandshakeError(_REFUSALS[verdict].format(rank=rank, size=its_size))
    return int(rank)


def introduce(link: socket.socket, rank: int, size: int, token: bytes, deadline: float) -> None:
    """Run the worker's side: prove to know the token, and check that the hub does."""
    hello = _receive(link, _HELLO, deadline)
    if not hello.startswith(_MAGIC):
        raise HandshakeError("it is no hub of this version of rankgrove")
    said = _MAGIC + secrets.token_bytes(_CHALLENGE) + _WHO.pack(rank, size)
    _send(link, said + _proof(token, b"worker", hello, said), deadline)
    reply = _receive(link, 1 + _PROOF, deadline)
    answer, proof = reply[:1], reply[1:]
    if not hmac.compare_digest(proof, _proof(token, b"hub", hello, said, answer)):
        raise HandshakeError("it does not know the token")
    if answer[0] != WELCOME:
        raise HandshakeError(_REFUSALS[answer[0]].format(rank=rank, size=size))


def connect(
    host: str,
    port: int,
    rank: int,
    size: int,
    token: bytes,
    timeout: float,
    listens: bool = False,
) -> socket.socket:
    """Connect to a hub and run the worker's side; retry until the time-out.

    The hub may cut off a connection when it has too many of them, and need not listen yet. If it is
    known to have begun (``listens``), a port that refuses connections belongs to a hub that has
    ended.

    Raises
    ------
    HandshakeError : the hub refuses this worker; it is not tried again
    OSError : the hub could not be reached, or did not answer, within the time-out
    """
    deadline = time.monotonic() + timeout
    while True:
        attempt = min(deadline, time.monotonic() + HANDSHAKE_SECONDS)
        link = None
        try:
            link = socket.create_connection(
                (host, port), timeout=max(0.1, attempt - time.monotonic())
            )
            introduce(link, rank, size, token, attempt)
            return link
        except (HandshakeError, OSError) as error:
            if link is not None:
                link.close()
            late = time.monotonic() + _RETRY_SECONDS > deadline
            ended = listens and isinstance(error, ConnectionRefusedError)
            if late or ended or isinstance(error, HandshakeError):
                raise
        time.sleep(_RETRY_SECONDS)


def keep_alive(link: socket.socket) -> None:
    """Send small messages at once, and notice a machine that vanishes within half a minute."""
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 30_000}
    for name, value in options.items():
        if hasattr(socket, name):
            link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def send_text(link: socket.socket, text: str, deadline: float) -> None:
    """Send a text to a worker that has been authenticated."""
    data = text.encode()
    _send(link, _LENGTH.pack(len(data)) + data, deadline)


def receive_text(link: socket.socket, deadline: float) -> str:
    """Receive a text of a worker that has been authenticated."""
    (length,) = _LENGTH.unpack(_receive(link, _LENGTH.size, deadline))
    return _receive(link, length, deadline).decode()


def _proof(token: bytes, *parts: bytes) -> bytes:
    return hmac.digest(token, b"".join(parts), "sha256")


def _send(link: socket.socket, data: bytes, deadline: float) -> None:
    link.settimeout(max(0.001, deadline - time.monotonic()))
    link.sendall(data)


def _receive(link: socket.socket, length: int, deadline: float) -> bytes:
    data = b""
    while len(data) < length:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it keeps silent")
        link.settimeout(left)
        try:
            part = link.recv(length - len(data))
        except TimeoutError:
            raise TimeoutError("it keeps silent") from None
        if not part:
            raise ConnectionResetError("it closed the connection")
        data += part
    return data
