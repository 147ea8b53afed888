"""How the workers of one fit find each other.

Worker 0 is the hub of a star: it listens, the others join it. Only those who know the token get in
(see ``handshake``); what travels later is not encrypted, so workers belong into one trusted
network. Everything has a time-out, and names the worker that it waited for.

    # worker 0                                        # worker r
    hub = Hub()
    ... tell the others hub.address ...               ... get the address ...
    with hub.accept(size, token) as communicator:     with join(address, r, size, token) as c:
        fit_shard(ranker, shard, communicator)            fit_shard(ranker, shard, c)
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass, field

from rankgrove.distributed.handshake import HandshakeError, check_token, introduce, welcome
from rankgrove.distributed.star import StarCommunicator
from rankgrove.errors import WorkerLost
from rankgrove.workers.communicator import Communicator

JOIN_SECONDS = 60.0
"""How long workers wait for each other at the start."""
PATIENCE_SECONDS = 600.0
"""How long a worker may keep the others waiting between two messages."""

_HANDSHAKE_SECONDS = 10.0
_LOOK_SECONDS = 0.02  # between looks for Ctrl-C and for those who have come
_MOST_STRANGERS = 64  # connections whose handshake may be under way, besides one per worker


@dataclass
class _Arrivals:
    """Those who have joined; handshakes run side by side, so that nobody can hold up the rest."""

    size: int
    token: bytes
    deadline: float
    links: dict[int, tuple[socket.socket, str]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    under_way: int = 0
    refused: str = ""  # the last one that was turned away, and why

    @property
    def missing(self) -> set[int]:
        return set(range(1, self.size)) - set(self.links)

    def greet(self, link: socket.socket, address: str) -> None:
        """Start the handshake with somebody who has connected."""
        with self.lock:
            crowded = self.under_way >= self.size + _MOST_STRANGERS
            self.under_way += not crowded
        if crowded:
            link.close()
            return
        threading.Thread(target=self._shake_hands, args=(link, address), daemon=True).start()

    def _shake_hands(self, link: socket.socket, address: str) -> None:
        deadline = min(self.deadline, time.monotonic() + _HANDSHAKE_SECONDS)
        try:
            rank = welcome(link, self.size, self.token, self.missing, deadline)
            with self.lock:
                if rank not in self.missing or time.monotonic() > self.deadline:
                    raise HandshakeError(f"worker {rank} has joined already")
                self.links[rank] = (link, address)
        except (HandshakeError, OSError) as error:
            self.refused = f"{address} was turned away: {error}"
            link.close()
        finally:
            with self.lock:
                self.under_way -= 1


class Hub:
    """Where worker 0 listens, so that its address is known before the others join.

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
        """Wait until workers 1 to size - 1 have joined; the hub itself is closed then.

        Strangers (a wrong token, other bytes, silence) are turned away and do no harm.

        Raises
        ------
        WorkerLost : if not all have come in time; names those that are missing
        """
        arrivals = _Arrivals(size, check_token(token), time.monotonic() + timeout)
        self._listener.settimeout(_LOOK_SECONDS)
        try:
            while arrivals.missing:
                if time.monotonic() > arrivals.deadline:
                    self._give_up(arrivals, timeout)
                try:
                    link, place = self._listener.accept()
                except TimeoutError:
                    continue
                arrivals.greet(link, f"{place[0]}:{place[1]}")
        except BaseException:
            for link, _ in arrivals.links.values():
                link.close()
            raise
        finally:
            self.close()
        peers = [(rank, *arrivals.links[rank]) for rank in range(1, size)]
        return StarCommunicator(
            0, size, [(_handed_over(link), rank, where) for rank, link, where in peers], patience
        )

    def _give_up(self, arrivals: _Arrivals, timeout: float) -> None:
        missing = sorted(arrivals.missing)
        names = ", ".join(map(str, missing))
        hint = f" ({arrivals.refused})" if arrivals.refused else ""
        raise WorkerLost(
            f"worker {names} of {arrivals.size} has not joined {self.address} within "
            f"{timeout:g} s{hint}",
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

    The hub need not listen yet: it is tried again until the time-out.

    Raises
    ------
    WorkerLost : if the hub cannot be reached in time, or turns this worker away
    """
    check_token(token)
    if not 0 < rank < size:
        raise ValueError(f"rank must lie in 1..{size - 1}, not {rank}: worker 0 is the hub")
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"address must be host:port, not {address!r}")
    deadline = time.monotonic() + timeout
    while True:
        try:
            link = socket.create_connection((host, int(port)), timeout=max(0.1, timeout))
            break
        except OSError as error:
            if time.monotonic() + _LOOK_SECONDS > deadline:
                raise WorkerLost(
                    f"worker 0 ({address}) cannot be reached within {timeout:g} s: {error}",
                    0,
                    address,
                ) from error
            time.sleep(_LOOK_SECONDS)
    try:
        introduce(link, rank, size, token, deadline)
    except (HandshakeError, OSError) as error:
        link.close()
        raise WorkerLost(f"worker 0 ({address}) was not joined: {error}", 0, address) from error
    return StarCommunicator(rank, size, [(_handed_over(link), 0, address)], patience)


def _handed_over(link: socket.socket) -> int:
    """Prepare a socket for many small messages and for machines that vanish; give it away."""
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 30_000}
    for name, value in options.items():
        if hasattr(socket, name):
            link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    link.setblocking(False)
    return link.detach()
