"""Rendezvous of the workers of one fit over TCP.

Worker 0 is the hub at which the others meet: it listens, the others join it, and tell it where they
listen themselves. It sends all addresses to everybody; then each worker connects to those of lower
rank, so that all are connected with each other. Only those who know the token are accepted (see
``handshake``); what is sent later is not encrypted, so workers belong into one trusted network.
Everything has a time-out, whose error names the missing worker.

    # worker 0                                        # worker r
    hub = Hub()
    ... send hub.address to the others ...            ... receive the address ...
    with hub.accept(size, token) as communicator:     with join(address, r, size, token) as c:
        fit_shard(ranker, shard, communicator)            fit_shard(ranker, shard, c)
"""

from __future__ import annotations

import contextlib
import json
import resource
import time
from collections.abc import Iterator

from rankgrove.distributed.arrivals import Arrivals, Link, MissingWorkers, listen
from rankgrove.distributed.handshake import (
    HandshakeError,
    check_token,
    connect,
    keep_alive,
    receive_text,
    send_text,
    token_of,
)
from rankgrove.distributed.mesh import MeshCommunicator
from rankgrove.errors import WorkerLost
from rankgrove.workers.communicator import Communicator

JOIN_SECONDS = 60.0
"""Time-out for all workers to join."""
PATIENCE_SECONDS = 600.0
"""Time-out for a worker that the others wait for."""
_OTHER_DESCRIPTORS = 256  # that a process may need besides one per worker


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
        self._listener = listen(host, port)
        self.address = f"{host}:{self._listener.getsockname()[1]}"

    def accept(
        self,
        size: int,
        token: bytes,
        *,
        timeout: float = JOIN_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> Communicator:
        """Wait until workers 1 to size - 1 have joined, introduce them, and close the hub.

        Strangers (a wrong token, other bytes, silence) are turned away and do no harm.

        Raises
        ------
        WorkerLost : if not all have joined within the time-out; names those that are missing
        """
        check_token(token)
        _allow_descriptors(size)
        deadline = time.monotonic() + timeout
        with (
            _closed_on_error() as links,
            Arrivals(self._listener, range(1, size), size, token) as a,
        ):
            try:
                links.update(a.wait(deadline))
            except MissingWorkers as error:
                raise _not_joined(error, size, self.address, timeout) from None
            addresses = [self.address]
            for rank, (link, where) in sorted(links.items()):
                with _naming(rank, where):
                    addresses.append(receive_text(link, deadline))
            for rank, (link, where) in links.items():
                with _naming(rank, where):
                    send_text(link, json.dumps(addresses), deadline)
            return _communicator(0, size, links, patience)

    def close(self) -> None:
        """Stop listening; may be called twice."""
        self._listener.close()


def join(
    address: str,
    rank: int,
    size: int,
    token: bytes,
    *,
    port: int = 0,
    timeout: float = JOIN_SECONDS,
    patience: float = PATIENCE_SECONDS,
) -> Communicator:
    """Join the hub at an address as worker ``rank`` (1 to size - 1), and connect to all others.

    The hub need not listen yet: joining is retried until the time-out. This worker listens for
    those of higher rank at ``port`` (0: a free one) of the address by which it reaches the hub.

    Raises
    ------
    WorkerLost : if a worker does not answer within the time-out, or refuses this one
    """
    check_token(token)
    if not 0 < rank < size:
        raise ValueError(f"rank must lie in 1..{size - 1}, not {rank}: worker 0 is the hub")
    _parts(address)
    _allow_descriptors(size)
    deadline = time.monotonic() + timeout
    with _closed_on_error() as links:
        links[0] = _reached(0, address, rank, size, token, timeout)
        hub = links[0][0]
        host = hub.getsockname()[0]
        listener = listen(host, port)
        higher = range(rank + 1, size)
        with Arrivals(listener, higher, size, token_of(token, rank)) as arrivals:
            own_address = f"{host}:{listener.getsockname()[1]}"
            with _naming(0, address):
                send_text(hub, own_address, deadline)
                addresses = json.loads(receive_text(hub, deadline))
            for other in range(1, rank):
                left = max(0.0, deadline - time.monotonic())
                links[other] = _reached(
                    other, addresses[other], rank, size, token_of(token, other), left
                )
            try:
                links.update(arrivals.wait(deadline))
            except MissingWorkers as error:
                raise _not_joined(error, size, own_address, timeout) from None
        return _communicator(rank, size, links, patience)


def _reached(other: int, address: str, rank: int, size: int, token: bytes, timeout: float) -> Link:
    """Connect to the worker ``other`` at its address."""
    host, port = _parts(address)
    try:
        link = connect(host, port, rank, size, token, timeout)
    except HandshakeError as error:
        text = f"worker {other} ({address}) was not joined: {error}"
        raise WorkerLost(text, other, address) from error
    except OSError as error:
        text = f"worker {other} ({address}) cannot be reached within {timeout:g} s: {error}"
        raise WorkerLost(text, other, address) from error
    keep_alive(link)
    return link, address


def _parts(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"address must be host:port, not {address!r}")
    return host, int(port)


def _communicator(rank: int, size: int, links: dict[int, Link], patience: float) -> Communicator:
    """Hand the sockets over to the native communicator, which closes them."""
    peers = []
    for other, (link, address) in sorted(links.items()):
        link.setblocking(False)
        peers.append((link.detach(), other, address))
    return MeshCommunicator(rank, size, peers, patience)


def _not_joined(missing: MissingWorkers, size: int, address: str, timeout: float) -> WorkerLost:
    names = ", ".join(map(str, missing.ranks))
    hint = f" ({missing.hint})" if missing.hint else ""
    return WorkerLost(
        f"worker {names} of {size} has not joined {address} within {timeout:g} s{hint}",
        missing.ranks[0],
    )


@contextlib.contextmanager
def _closed_on_error() -> Iterator[dict[int, Link]]:
    """Yield sockets by rank, which are closed if an error is raised."""
    links: dict[int, Link] = {}
    try:
        yield links
    except BaseException:
        for link, _ in links.values():
            link.close()
        raise


@contextlib.contextmanager
def _naming(rank: int, address: str) -> Iterator[None]:
    """Raise ``WorkerLost`` that names a worker where its connection ends."""
    try:
        yield
    except OSError as error:
        text = f"worker {rank} ({address}) is lost before the others have joined: {error}"
        raise WorkerLost(text, rank, address) from error


def _allow_descriptors(size: int) -> None:
    """Let this process have a socket for every worker; refuse what the system does not allow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = size + _OTHER_DESCRIPTORS
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise OSError(
            f"{size} workers need {wanted} open files in each process, and the system allows "
            f"{hard}: raise it (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
