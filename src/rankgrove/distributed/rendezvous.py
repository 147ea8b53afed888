"""Rendezvous of the workers of one fit over TCP.

Worker 0 is the hub of a star: it listens, the others join it. Only those who know the token are
accepted (see ``handshake``); what is sent later is not encrypted, so workers belong into one
trusted network. Everything has a time-out, whose error names the missing worker.

    # worker 0                                        # worker r
    hub = Hub()
    ... send hub.address to the others ...            ... receive the address ...
    with hub.accept(size, token) as communicator:     with join(address, r, size, token) as c:
        fit_shard(ranker, shard, communicator)            fit_shard(ranker, shard, c)
"""

from __future__ import annotations

import socket
import threading
import time

from rankgrove.distributed.handshake import HandshakeError, check_token, connect, keep_alive
from rankgrove.distributed.join_listener import JoinListener
from rankgrove.distributed.star import StarCommunicator
from rankgrove.errors import WorkerLost
from rankgrove.workers.communicator import Communicator

JOIN_SECONDS = 60.0
"""Time-out for all workers to join."""
PATIENCE_SECONDS = 600.0
"""Time-out for a worker that the others wait for."""


class Hub:
    """Listening socket of worker 0, whose address is known before the others join.

    Parameters
    ----------
    host : name or address of this machine as the others reach it
    port : 0 takes a free one

    Attributes
    ----------
    address : ``host:port`` for ``join``
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        self._listener = socket.create_server((host, port), family=family, backlog=128)
        self.address = f"{host}:{self._listener.getsockname()[1]}"

    def accept(
        self,
        size: int,
        token: bytes,
        *,
        timeout: float = JOIN_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> Communicator:
        """Wait until workers 1 to size - 1 have joined, and close the hub.

        Strangers (a wrong token, other bytes, silence) are turned away and do no harm.

        Raises
        ------
        WorkerLost : if not all have joined within the time-out; names those that are missing
        """
        check_token(token)
        links: dict[int, tuple[socket.socket, str]] = {}
        changed, closed = threading.Condition(), False

        def on_join(rank: int, link: socket.socket, address: str) -> None:
            with changed:
                if closed:
                    link.close()
                    return
                links[rank] = (link, address)
                changed.notify()

        deadline = time.monotonic() + timeout
        listener = JoinListener(self._listener, range(1, size), size, token, on_join)
        try:
            with changed:
                while len(links) < size - 1:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        missing = sorted(set(range(1, size)) - set(links))
                        raise self._missing(missing, size, timeout, listener.last_refusal)
                    changed.wait(left)
                closed = True
        except BaseException:
            with changed:
                closed = True
                for link, _ in links.values():
                    link.close()
            raise
        finally:
            listener.close()
        peers = [(_descriptor(link), rank, where) for rank, (link, where) in sorted(links.items())]
        return StarCommunicator(0, size, peers, patience)

    def _missing(self, missing: list[int], size: int, timeout: float, refusal: str) -> WorkerLost:
        names = ", ".join(map(str, missing))
        hint = f" ({refusal})" if refusal else ""
        return WorkerLost(
            f"worker {names} of {size} has not joined {self.address} within {timeout:g} s{hint}",
            missing[0],
        )

    def close(self) -> None:
        """Stop listening; may be called twice."""
        self._listener.close()


def join(
    address: str,
    rank: int,
    size: int,
    token: bytes,
    *,
    timeout: float = JOIN_SECONDS,
    patience: float = PATIENCE_SECONDS,
) -> Communicator:
    """Join the hub at an address as worker ``rank`` (1 to size - 1).

    The hub need not listen yet: joining is retried until the time-out.

    Raises
    ------
    WorkerLost : if the hub does not answer within the time-out, or refuses this worker
    """
    check_token(token)
    if not 0 < rank < size:
        raise ValueError(f"rank must lie in 1..{size - 1}, not {rank}: worker 0 is the hub")
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"address must be host:port, not {address!r}")
    try:
        link = connect(host, int(port), rank, size, token, timeout)
    except HandshakeError as error:
        raise WorkerLost(f"worker 0 ({address}) was not joined: {error}", 0, address) from error
    except OSError as error:
        raise WorkerLost(
            f"worker 0 ({address}) cannot be reached within {timeout:g} s: {error}", 0, address
        ) from error
    keep_alive(link)
    return StarCommunicator(rank, size, [(_descriptor(link), 0, address)], patience)


def _descriptor(link: socket.socket) -> int:
    """Return the file descriptor of a socket, which the native communicator then owns."""
    link.setblocking(False)
    return link.detach()
