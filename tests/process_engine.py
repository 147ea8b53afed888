"""An engine whose workers are processes of their own, each of which can be given a fault."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rankgrove.distributed.partitions import assign_partitions

_WORKER = """
import pickle, sys
from rankgrove.distributed.worker import run_worker
task, rank, sets, n_threads = pickle.load(open(sys.argv[1], "rb"))
exec(sys.argv[2])
run_worker(task, rank, sets, n_threads)
"""


class ProcessEngine:
    """An engine of ``size`` processes.

    Parameters
    ----------
    faults : Python statements that a worker executes before it takes part, by rank
    prefixes : commands that start a worker, by rank
    before : called when partitions are assigned, before the workers start
    """

    accepts = "paths"

    def __init__(
        self,
        size: int,
        faults: Mapping[int, str] | None = None,
        prefixes: Mapping[int, list[str]] | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self.size = size
        self._faults, self._prefixes = dict(faults or {}), dict(prefixes or {})
        self._before = before
        self._folder = tempfile.TemporaryDirectory()
        self.processes: list[subprocess.Popen[bytes]] = []

    def host(self) -> str:
        return "127.0.0.1"

    def n_workers(self, wanted: int | None) -> int:
        return self.size

    def source(self, *_: Any) -> None:
        return None

    def start(self, task: Any, sources: list[Any]) -> ProcessEngine:
        held = [assign_partitions(source.partitions, self.size) for source in sources]
        self._before()
        for rank in range(self.size):
            job = Path(self._folder.name) / f"{len(self.processes)}.pickle"
            job.write_bytes(pickle.dumps((task, rank, [source[rank] for source in held], 1)))
            command = [
                *self._prefixes.get(rank, []),
                *(sys.executable, "-c", _WORKER, str(job), self._faults.get(rank, "")),
            ]
            self.processes.append(subprocess.Popen(command, env=os.environ | {"PYTHONPATH": ""}))
        return self

    def check(self) -> None:
        pass

    def exclude(self, rank: int) -> None:
        pass

    def stop(self) -> None:
        """Wait for workers; one that does not end fails the test."""
        for process in self.processes:
            process.wait(120)
