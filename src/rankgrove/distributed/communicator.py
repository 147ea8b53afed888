"""Messages between the workers of one fit.

Worker 0 is the hub of a star: it listens, the others join it. Only those who know the token get in
(HMAC-SHA256 on fresh random challenges, both ways); what travels later is not encrypted, so workers
belong into one trusted network. Everything has a time-out, and names the worker that it waited for.

    # worker 0                                        # worker r
    hub = Hub()
    ... tell the others hub.address ...               ... get the address ...
    with hub.accept(size, token) as communicator:     with join(address, r, size, token) as c:
        fit_shard(ranker, shard, communicator)            fit_shard(ranker, shard, c)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

JOIN_SECONDS = 60.0
"""How long workers wait for each other at the start."""
PATIENCE_SECONDS = 600.0
"""How long a worker may keep the others waiting between two messages."""


@dataclass(frozen=True)
class Traffic:
    """What a communicator has sent, received and waited for so far.

    Attributes
    ----------
    messages : sums, maxima, gathers, ... that all workers took part in
    bytes_sent, bytes_received : of this worker
    seconds_waiting : spent in messages, almost all of it waiting for others
    """

    messages: int
    bytes_sent: int
    bytes_received: int
    seconds_waiting: float


class Communicator:
    """What all workers of a fit call together, in the same order.

    Every call raises ``WorkerLost`` if a worker dies or keeps the others waiting for longer than
    the patience, and ``WorkerFailed`` if one has given up; both name it. The communicator is of no
    use after that. Ctrl-C is answered while waiting.

    Attributes
    ----------
    rank : number of this worker, from 0
    size : number of workers
    """

    rank: int
    size: int

    def sum(self, values: npt.NDArray[np.int64]) -> None:
        """Replace each value by its sum over all workers."""
        raise NotImplementedError

    def maximum(self, values: npt.NDArray[np.int64]) -> None:
        """Replace each value by its maximum over all workers."""
        raise NotImplementedError

    def gather(self, data: bytes) -> list[bytes]:
        """Return what each worker gave, in order of rank, to all of them."""
        raise NotImplementedError

    def broadcast(self, data: bytes) -> bytes:
        """Return what worker 0 gave; what others give is ignored."""
        raise NotImplementedError

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Give part r to worker r; return what each worker had for this one, in order of rank."""
        raise NotImplementedError

    def barrier(self) -> None:
        """Wait until all workers are here."""
        self.sum(np.zeros(1, np.int64))

    @property
    def traffic(self) -> Traffic:
        """What was sent and waited for so far."""
        raise NotImplementedError

    def abort(self, reason: str) -> None:
        """Tell the others why this worker gives up (they raise ``WorkerFailed``), and close."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connections; may be called twice."""
        raise NotImplementedError

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


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
        self.address = f"{host}:{port}"

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
        raise NotImplementedError

    def close(self) -> None:
        """Stop listening; may be called twice."""


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
    WorkerLost : if the hub cannot be reached in time, or does not know the token
    """
    raise NotImplementedError
