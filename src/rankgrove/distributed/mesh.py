"""Collective operations over TCP between workers that are all connected with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.workers.communicator import Communicator, Traffic


class MeshCommunicator(Communicator):
    """Communicator without a centre, made by ``Hub.accept`` and ``join``.

    Sums take recursive halving: a worker sends each value once for a reduce-scatter and once for an
    all-gather, in about log2(size) steps, whatever their number.

    Parameters
    ----------
    peers : socket (a file descriptor, which this object closes), rank and address of the others, in
        order of rank
    patience : time-out in seconds for which a worker may keep the others waiting
    """

    def __init__(
        self, rank: int, size: int, peers: list[tuple[int, int, str]], patience: float
    ) -> None:
        self.rank, self.size = rank, size
        self._mesh = _native.Mesh(rank, size, peers, patience)

    @property
    def reducer(self) -> Any:
        """The native communicator, which kernels call without Python."""
        return self._mesh

    def sum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its sum over all workers."""
        self._mesh.sum(values)

    def maximum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its maximum over all workers."""
        self._mesh.maximum(values)

    def sum_scatter(
        self,
        values: npt.NDArray[np.int64],
        bounds: npt.NDArray[np.int64],
        extra: npt.NDArray[np.int64],
    ) -> None:
        """Reduce-scatter in place: sum this worker's part of the values, and ``extra``."""
        self._mesh.sum_scatter(values, bounds, extra)

    def gather(self, data: bytes) -> list[bytes]:
        """All-gather: return the data of every worker, in order of rank, on every worker."""
        return list(self._mesh.gather(data))

    def broadcast(self, data: bytes) -> bytes:
        """Return the data of worker 0; what other workers pass is ignored."""
        return self._mesh.broadcast(data)

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """All-to-all: send part r to worker r; return what each worker sent here, by rank."""
        return list(self._mesh.exchange(list(parts)))

    @property
    def traffic(self) -> Traffic:
        """Counts of what was sent and waited for so far."""
        return Traffic(*self._mesh.traffic)

    def abort(self, reason: str) -> None:
        """Send the other workers the reason for giving up (they raise ``WorkerFailed``); close."""
        self._mesh.abort(reason)

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._mesh.close()
