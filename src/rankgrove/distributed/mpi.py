"""Communicator between workers that MPI has started (``mpiexec -n 4 python train.py``).

    with MPICommunicator() as communicator:
        fit_shard(ranker, shard_of(communicator.rank), communicator)

A worker that fails in this block, in the fit or before it, ends the whole task, with the reason on
standard error; so does one that waits for another for more than ``patience`` seconds. MPI's
launcher ends all workers when one dies.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._optional import require
from rankgrove.errors import WorkerLost
from rankgrove.workers.communicator import Communicator, Traffic

_SPIN_SECONDS = 0.001
_PAUSE_SECONDS = 0.001
_ANSWER_SECONDS = 2.0
_FORWARD_SECONDS = 1.0  # MPI's launcher drops output that it has not forwarded when a task is ended
_QUESTION, _ANSWER = 28171, 28172  # tags of messages between two workers


class MPICommunicator(Communicator):
    """Communicator over MPI.

    Collective calls are those that do not block, which are asked again and again whether they are
    done: so waiting has a time limit, answers Ctrl-C, and leaves the processor to others. A worker
    that gives up asks the others whether they wait, too, to name the one that does not.

    Parameters
    ----------
    comm : of mpi4py; None: all workers that were started together
    patience : seconds for which a worker may keep the others waiting (it is stopped, or reads
        and computes for longer than that); the task is ended then
    """

    def __init__(self, comm: Any = None, *, patience: float = 600.0) -> None:
        if not patience > 0:
            raise ValueError(f"patience must be more than 0, not {patience!r}")
        self._mpi = require("mpi4py.MPI", "mpi", "MPICommunicator")
        self._comm = self._mpi.COMM_WORLD if comm is None else comm
        self._patience = patience
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()
        self._messages = self._frames = self._sent = self._received = 0
        self._seconds = 0.0
        self._gave_up = False

    def _wait(self, request: Any, sent: int, received: int) -> None:
        """Wait until all workers have come to the same call."""
        start = time.monotonic()
        waited = 0.0
        while not request.Test():
            waited = time.monotonic() - start
            if waited > self._patience:
                self._give_up()
                start = time.monotonic()
            if waited > _SPIN_SECONDS:
                self._answer_question()
                time.sleep(min(_PAUSE_SECONDS, waited / 10))
        self._seconds += waited
        self._messages += 1
        self._frames += 1
        self._sent += sent
        self._received += received

    def _answer_question(self) -> None:
        """Answer a worker whose wait timed out that this one waits, too."""
        status = self._mpi.Status()
        if self._comm.Iprobe(tag=_QUESTION, status=status):
            self._comm.Recv(bytearray(), source=status.Get_source(), tag=_QUESTION)
            self._comm.Isend(b"", dest=status.Get_source(), tag=_ANSWER)

    def _give_up(self) -> None:
        """Find out which workers do not wait, and end the task if there are any."""
        missing = set(range(self.size)) - {self.rank}
        for rank in missing:
            self._comm.Isend(b"", dest=rank, tag=_QUESTION)
        end = time.monotonic() + _ANSWER_SECONDS
        status = self._mpi.Status()
        while missing and time.monotonic() < end:
            self._answer_question()
            while self._comm.Iprobe(tag=_ANSWER, status=status):
                self._comm.Recv(bytearray(), source=status.Get_source(), tag=_ANSWER)
                missing.discard(status.Get_source())
            time.sleep(_PAUSE_SECONDS)
        if missing:
            reason = (
                f"it has waited for {self._patience:g} seconds (patience) for worker "
                f"{', '.join(map(str, sorted(missing)))}: stopped, gone, or busy for longer"
            )
            self.abort(reason)
            raise WorkerLost(reason, min(missing))

    def _reduce(self, values: npt.NDArray[np.int64], operation: Any) -> None:
        request = self._comm.Iallreduce(self._mpi.IN_PLACE, values, operation)
        self._wait(request, values.nbytes, values.nbytes)

    def sum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its sum over all workers."""
        self._reduce(values, self._mpi.SUM)

    def maximum(self, values: npt.NDArray[np.int64]) -> None:
        """All-reduce in place: replace each value by its maximum over all workers."""
        self._reduce(values, self._mpi.MAX)

    def sum_scatter(
        self,
        values: npt.NDArray[np.int64],
        bounds: npt.NDArray[np.int64],
        extra: npt.NDArray[np.int64],
    ) -> None:
        """Reduce-scatter in place: sum this worker's part of the values, and ``extra``.

        MPI sums parts alone, so that every part goes with its own copy of the extra values.
        """
        parts = [part for own in np.split(values, bounds[1:-1]) for part in (own, extra)]
        counts = np.diff(bounds) + len(extra)
        own = np.empty(counts[self.rank], np.int64)
        sent = np.concatenate(parts)
        kind = self._mpi.INT64_T
        request = self._comm.Ireduce_scatter(
            [sent, kind], [own, kind], counts.tolist(), self._mpi.SUM
        )
        self._wait(request, sent.nbytes, own.nbytes)
        n_values = len(own) - len(extra)
        values[bounds[self.rank] : bounds[self.rank + 1]] = own[:n_values]
        extra[:] = own[n_values:]

    def gather(self, data: bytes) -> list[bytes]:
        """All-gather: return the data of every worker, in order of rank, on every worker."""
        sizes = np.empty(self.size, np.int64)
        request = self._comm.Iallgather(np.array([len(data)], np.int64), sizes)
        self._wait(request, 8, sizes.nbytes)
        received = np.empty(sizes.sum(), np.uint8)
        request = self._comm.Iallgatherv([data, self._mpi.BYTE], self._parts(received, sizes))
        self._wait(request, len(data), received.nbytes)
        return _cut(received, sizes)

    def broadcast(self, data: bytes) -> bytes:
        """Return the data of worker 0; what other workers pass is ignored."""
        size = np.array([len(data)], np.int64)
        self._wait(self._comm.Ibcast(size, root=0), 0, size.nbytes)
        buffer = np.empty(int(size[0]), np.uint8)
        if self.rank == 0:
            buffer[:] = np.frombuffer(data, np.uint8)
        self._wait(self._comm.Ibcast([buffer, self._mpi.BYTE], root=0), 0, buffer.nbytes)
        return buffer.tobytes()

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """All-to-all: send part r to worker r; return what each worker sent here, by rank."""
        sizes = np.array([len(part) for part in parts], np.int64)
        their_sizes = np.empty(self.size, np.int64)
        request = self._comm.Ialltoall(sizes, their_sizes)
        self._wait(request, sizes.nbytes, their_sizes.nbytes)
        received = np.empty(their_sizes.sum(), np.uint8)
        sent = np.frombuffer(b"".join(parts), np.uint8)
        request = self._comm.Ialltoallv(
            self._parts(sent, sizes), self._parts(received, their_sizes)
        )
        self._wait(request, sent.nbytes, received.nbytes)
        return _cut(received, their_sizes)

    def _parts(self, buffer: npt.NDArray[np.uint8], sizes: npt.NDArray[np.int64]) -> list[Any]:
        """Return a buffer of one part per worker, as mpi4py takes it."""
        starts = np.cumsum(sizes) - sizes
        return [buffer, (sizes.tolist(), starts.tolist()), self._mpi.BYTE]

    @property
    def traffic(self) -> Traffic:
        """Counts of what was sent and waited for so far; MPI's own frames are not counted."""
        return Traffic(self._messages, self._frames, self._sent, self._received, self._seconds)

    def abort(self, reason: str) -> None:
        """Print the reason for giving up, and end all workers."""
        self._gave_up = True
        print(f"worker {self.rank} gave up: {reason}", file=sys.stderr, flush=True)
        time.sleep(_FORWARD_SECONDS)
        self._comm.Abort(1)

    def close(self) -> None:
        """Do nothing: the connections are MPI's."""

    def __exit__(self, *error: Any) -> None:
        """End all workers if this one leaves the block by an error: they would wait for it."""
        kind, value, _ = error
        if kind is None or self._gave_up or (kind is SystemExit and not value.code):
            return
        traceback.print_exception(*error)
        self.abort(f"{kind.__name__}: {value}")


def _cut(whole: npt.NDArray[np.uint8], sizes: npt.NDArray[np.int64]) -> list[bytes]:
    """Return the parts of a buffer that have these sizes."""
    return [part.tobytes() for part in np.split(whole, np.cumsum(sizes)[:-1])]
