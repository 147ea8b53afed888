"""Messages between the workers of one fit: what they all call together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native


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


class Communicator(ABC):
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

    @abstractmethod
    def sum(self, values: npt.NDArray[np.int64]) -> None:
        """Replace each value by its sum over all workers."""

    @abstractmethod
    def maximum(self, values: npt.NDArray[np.int64]) -> None:
        """Replace each value by its maximum over all workers."""

    @abstractmethod
    def gather(self, data: bytes) -> list[bytes]:
        """Return what each worker gave, in order of rank, to all of them."""

    @abstractmethod
    def broadcast(self, data: bytes) -> bytes:
        """Return what worker 0 gave; what others give is ignored."""

    @abstractmethod
    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Give part r to worker r; return what each worker had for this one, in order of rank."""

    def barrier(self) -> None:
        """Wait until all workers are here."""
        self.sum(np.zeros(1, np.int64))

    @property
    def engine(self) -> Any:
        """What kernels call: a native communicator, or an object with ``sum`` and ``maximum``."""
        return self

    @property
    @abstractmethod
    def traffic(self) -> Traffic:
        """What was sent and waited for so far."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """Tell the others why this worker gives up (they raise ``WorkerFailed``), and close."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections; may be called twice."""

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class Star(Communicator):
    """Worker 0 is the hub: the others send to it, and get its answer. Made by ``Hub`` and ``join``.

    Parameters
    ----------
    peers : socket (a file descriptor, which is closed in the end), rank and address of the others
    patience : seconds for which a worker may keep the others waiting
    """

    def __init__(
        self, rank: int, size: int, peers: list[tuple[int, int, str]], patience: float
    ) -> None:
        self.rank, self.size = rank, size
        self._star = _native.Star(rank, size, peers, patience)

    @property
    def engine(self) -> Any:
        """The native communicator."""
        return self._star

    def sum(self, values: npt.NDArray[np.int64]) -> None:
        """Replace each value by its sum over all workers."""
        self._star.sum(values)

    def maximum(self, values: npt.NDArray[np.int64]) -> None:
        """Replace each value by its maximum over all workers."""
        self._star.maximum(values)

    def gather(self, data: bytes) -> list[bytes]:
        """Return what each worker gave, in order of rank, to all of them."""
        return list(self._star.gather(data))

    def broadcast(self, data: bytes) -> bytes:
        """Return what worker 0 gave; what others give is ignored."""
        return self._star.broadcast(data)

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Give part r to worker r; return what each worker had for this one, in order of rank."""
        return list(self._star.exchange(list(parts)))

    @property
    def traffic(self) -> Traffic:
        """What was sent and waited for so far."""
        return Traffic(*self._star.traffic)

    def abort(self, reason: str) -> None:
        """Tell the others why this worker gives up (they raise ``WorkerFailed``), and close."""
        self._star.abort(reason)

    def close(self) -> None:
        """Close the connections; may be called twice."""
        self._star.close()
