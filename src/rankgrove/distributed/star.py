"""Collective operations over TCP in a star: worker 0 is the hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.workers.communicator import Communicator, Traffic


class StarCommunicator(Communicator):
    """Communicator in which worker 0 reduces and answers; made by ``Hub.accept`` and ``join``.

    Parameters
    ----------
    peers : socket (a file descriptor, which this object closes), rank and address of the others
    patience : time-out in seconds for which a worker may keep the others waiting
    """

    def __init__(
        self, rank: int, size: int, peers: list[tuple[int, int, str]], patience: float
    ) -> None:
        self.rank, self.size = rank, size
        self._star = _native.Star(rank, size, peers, patience)

    @property
    def reducer(self) -> Any:
        """The native communicator, which kernels call without Python."""
        return self._star

    def sum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its sum over all workers."""
        self._star.sum(values)

    def maximum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its maximum over all workers."""
        self._star.maximum(values)

    def gather(self, data: bytes) -> list[bytes]:
        """All-gather: return the data of every worker, in order of rank, on every worker."""
        return list(self._star.gather(data))

    def broadcast(self, data: bytes) -> bytes:
        """Return the data of worker 0; what other workers pass is ignored."""
        return self._star.broadcast(data)

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """All-to-all: send part r to worker r; return what each worker sent here, by rank."""
        return list(self._star.exchange(list(parts)))

    @property
    def traffic(self) -> Traffic:
        """Counts of what was sent and waited for so far."""
        return Traffic(*self._star.traffic)

    def abort(self, reason: str) -> None:
        """Send the other workers the reason for giving up (they raise ``WorkerFailed``); close."""
        self._star.abort(reason)

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._star.close()
