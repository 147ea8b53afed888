"""The listening socket: how it begins, and how it ends without resetting anybody.

Closing a listening socket resets the connections that the kernel has set up and nobody has
accepted, though their clients may have sent a request. So a server first stops the beginning of new
ones, then accepts those that are there or on their way, and only then closes the socket.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rankgrove.serving.limits import BACKLOG

HANDSHAKE_SECONDS = 0.5  # in which a connection that has begun is set up

_SO_ATTACH_FILTER = 26
_FLAGS, _SYN, _SYN_OR_ACK = 13, 0x02, 0x12  # of a TCP header, where the kernel runs the filter

# A program of the kernel's packet filter: (code, jump if true, jump if false, operand).
_DROP_NEW = (
    (0x30, 0, 0, _FLAGS),  # load the byte of flags
    (0x54, 0, 0, _SYN_OR_ACK),  # keep two of them
    (0x15, 0, 1, _SYN),  # if it is the first packet of a connection
    (0x06, 0, 0, 0),  # drop it
    (0x06, 0, 0, 0xFFFFFFFF),  # else take it
)


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen on an address while the block runs."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise OSError(f"cannot listen on {host} port {port}: {reason or error}") from error
    with listener:
        yield listener


def stop_handshakes(listener: socket.socket) -> None:
    """Let no further connection begin, in all processes that share the socket.

    A client's first packet is dropped; it sends another after a second and is refused by then.
    Elsewhere than on Linux nothing happens: a client that connects in the very moment of the end
    can be reset.
    """
    if sys.platform != "linux":
        return
    program = b"".join(struct.pack("=HBBI", *line) for line in _DROP_NEW)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(_DROP_NEW), ctypes.addressof(buffer))
    with contextlib.suppress(OSError):  # not every kernel and container has filters
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, header)
