"""Collective operations between the workers of one fit: sums, all-gather, broadcast, exchange."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import WorkerFailed


@dataclass(frozen=True)
class Traffic:
    """Counts of what a communicator has sent and received, and how long it has waited.

    Attributes
    ----------
    messages : collective operations that all workers took part in
    frames_sent : what this worker sent one other worker at a time, as one piece
    bytes_sent, bytes_received : of this worker
    seconds_waiting : spent in collective operations, almost all of it waiting for other workers
    """

    messages: int
    frames_sent: int
    bytes_sent: int
    bytes_received: int
    seconds_waiting: float


@contextmanager
def reading_message(rank: int) -> Iterator[None]:
    """Context in which bytes that do not mean what they should are an error of their sender."""
    try:
        yield
    except (ValueError, LookupError, TypeError, ArithmeticError, StopIteration) as error:
        cause = f"worker {rank} sent a message that cannot be read: {type(error).__name__}: {error}"
        raise WorkerFailed(cause, rank) from error


class Communicator(ABC):
    """Collective operations, which all workers of a fit must call in the same order.

    Every call raises ``WorkerLost`` if a worker dies or does not answer within the time-out
    (``patience``), and ``WorkerFailed`` if one has given up; both name it. The communicator cannot
    be used after that. Ctrl-C is answered while waiting.

    Attributes
    ----------
    rank : number of this worker, from 0
    size : number of workers
    """

    rank: int
    size: int

    @abstractmethod
    def sum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its sum over all workers."""

    @abstractmethod
    def maximum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its maximum over all workers."""

    @abstractmethod
    def sum_scatter(
        self,
        values: npt.NDArray[np.int64],
        bounds: npt.NDArray[np.int64],
        extra: npt.NDArray[np.int64],
    ) -> None:
        """Reduce-scatter in place: sum this worker's part of the values, and ``extra``, over all.

        The part of worker r is ``values[bounds[r]:bounds[r + 1]]``. What the other parts become is
        not defined. ``extra`` holds a few values that every worker gets the sums of.
        """

    @abstractmethod
    def gather(self, data: bytes) -> list[bytes]:
        """All-gather: return the data of every worker, in order of rank, on every worker."""

    @abstractmethod
    def broadcast(self, data: bytes) -> bytes:
        """Return the data of worker 0; what other workers pass is ignored."""

    @abstractmethod
    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """All-to-all: send part r to worker r; return what each worker sent here, by rank."""

    def barrier(self) -> None:
        """Wait until all workers have called this."""
        self.sum(np.zeros(1, np.int64))

    @property
    def reducer(self) -> Any:
        """The object that kernels call: a native communicator, or this one."""
        return self

    @property
    @abstractmethod
    def traffic(self) -> Traffic:
        """Counts of what was sent and waited for so far."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """Send the other workers the reason for giving up (they raise ``WorkerFailed``); close."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections; may be called twice."""

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
