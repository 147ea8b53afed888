"""Communicator between workers that MPI has started (``mpiexec -n 4 python train.py``).

    communicator = MPICommunicator()
    fit_shard(ranker, shard_of(communicator.rank), communicator)

MPI ends all workers when one dies, and has no time-outs: use it where its launcher supervises the
workers. A fit that fails on one worker ends the whole task, with the reason on standard error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove._optional import require
from rankgrove.workers.communicator import Communicator, Traffic

Answer = TypeVar("Answer")


class MPICommunicator(Communicator):
    """Communicator over MPI.

    Parameters
    ----------
    comm : of mpi4py; None: all workers that were started together
    """

    def __init__(self, comm: Any = None) -> None:
        self._mpi = require("mpi4py.MPI", "mpi", "MPICommunicator")
        self._comm = self._mpi.COMM_WORLD if comm is None else comm
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()
        self._messages = self._sent = self._received = 0
        self._seconds = 0.0

    def _timed(self, call: Callable[[], Answer]) -> Answer:
        start = time.perf_counter()
        answer = call()
        self._seconds += time.perf_counter() - start
        self._messages += 1
        return answer

    def _reduce(self, values: npt.NDArray[np.int64], operation: Any) -> None:
        self._timed(lambda: self._comm.Allreduce(self._mpi.IN_PLACE, values, operation))
        self._sent += values.nbytes
        self._received += values.nbytes

    def sum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its sum over all workers."""
        self._reduce(values, self._mpi.SUM)

    def maximum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its maximum over all workers."""
        self._reduce(values, self._mpi.MAX)

    def gather(self, data: bytes) -> list[bytes]:
        """All-gather: return the data of every worker, in order of rank, on every worker."""
        parts: list[bytes] = self._timed(lambda: self._comm.allgather(data))
        self._sent += len(data)
        self._received += sum(map(len, parts))
        return parts

    def broadcast(self, data: bytes) -> bytes:
        """Return the data of worker 0; what other workers pass is ignored."""
        answer: bytes = self._timed(lambda: self._comm.bcast(data, root=0))
        self._received += len(answer)
        return answer

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """All-to-all: send part r to worker r; return what each worker sent here, by rank."""
        received: list[bytes] = self._timed(lambda: self._comm.alltoall(list(parts)))
        self._sent += sum(map(len, parts))
        self._received += sum(map(len, received))
        return received

    @property
    def traffic(self) -> Traffic:
        """Counts of what was sent and waited for so far; MPI's own copies are not counted."""
        return Traffic(self._messages, self._sent, self._received, self._seconds)

    def abort(self, reason: str) -> None:
        """Print the reason for giving up, and end all workers."""
        print(f"worker {self.rank} gave up: {reason}", file=sys.stderr, flush=True)
        self._comm.Abort(1)

    def close(self) -> None:
        """Do nothing: the connections are MPI's."""
