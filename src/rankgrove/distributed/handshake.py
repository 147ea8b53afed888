"""How two workers make sure that they know the same token, before anything else is read.

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

_MAGIC = b"rankgrv1" + struct.pack("=I", 0x01020304)  # the order of bytes must be the same, too
_CHALLENGE = 32
_PROOF = 32
_WHO = struct.Struct("!II")
_HELLO = len(_MAGIC) + _CHALLENGE
_CLAIM = _HELLO + _WHO.size + _PROOF

WELCOME, UNKNOWN, OTHER_SIZE, TAKEN = range(4)
_REFUSALS = {
    OTHER_SIZE: "it expects another number of workers than {size}",
    TAKEN: "worker {rank} has joined already, or there is none of that number",
}


class HandshakeError(Exception):
    """The other side is not a worker of this fit; says why."""


def check_token(token: bytes) -> bytes:
    """Return the token, which must be bytes that cannot be guessed."""
    if not isinstance(token, bytes) or len(token) < 16:
        raise ValueError("token must be at least 16 secret bytes: secrets.token_bytes(32)")
    return token


def welcome(link: socket.socket, size: int, token: bytes, free: set[int], deadline: float) -> int:
    """Hub's side: return the rank of the worker that has proved to know the token.

    A rank that is taken is told so; it is up to the caller to take it out of ``free``.
    """
    hello = _MAGIC + secrets.token_bytes(_CHALLENGE)
    _send(link, hello, deadline)
    claim = _receive(link, _CLAIM, deadline)
    said, proof = claim[:-_PROOF], claim[-_PROOF:]
    known = hmac.compare_digest(proof, _proof(token, b"worker", hello, said))
    if not known or not said.startswith(_MAGIC):
        _send(link, bytes([UNKNOWN]) + bytes(_PROOF), deadline)
        raise HandshakeError("it does not know the token")
    rank, its_size = _WHO.unpack(said[_HELLO:])
    verdict = OTHER_SIZE if its_size != size else WELCOME if rank in free else TAKEN
    answer = bytes([verdict])
    _send(link, answer + _proof(token, b"hub", hello, said, answer), deadline)
    if verdict != WELCOME:
        raise HandshakeError(_REFUSALS[verdict].format(rank=rank, size=its_size))
    return int(rank)


def introduce(link: socket.socket, rank: int, size: int, token: bytes, deadline: float) -> None:
    """Worker's side: prove to know the token, and see that the hub does."""
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
        part = link.recv(length - len(data))
        if not part:
            raise HandshakeError("it closed the connection")
        data += part
    return data
