"""Interface of an engine (Dask, Ray, Spark): it places data, starts tasks, and replaces machines.

The tasks of a fit exchange messages over the communicator, and report to the driver's hub.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rankgrove.data.core.fit_data import FitData
from rankgrove.distributed.partition_scorer import PartitionScorer
from rankgrove.distributed.partitions import Partition
from rankgrove.distributed.worker import FitTask
from rankgrove.errors import RankgroveError


@dataclass(frozen=True)
class DataSource:
    """A data set of a cluster fit, before it is assigned to workers.

    Attributes
    ----------
    name : for messages
    options : how partitions are read (options of ``load``)
    partitions : read by the workers, or sent to them by the driver; empty if ``frame`` has the data
    frame : data of the engine
    """

    name: str
    options: Mapping[str, Any]
    partitions: list[Partition] = field(default_factory=list)
    frame: Any = None


class NoWorkersError(RankgroveError):
    """A cluster that has no workers now."""


class RunningTasks(Protocol):
    """The tasks of one attempt."""

    def check(self) -> None:
        """Raise failures that the engine reports: WorkerLost, or a task's own error."""

    def exclude(self, rank: int) -> None:
        """Avoid the machine of this worker in later attempts, if the engine has others."""

    def stop(self) -> None:
        """Wait shortly for tasks to end, and cancel those that do not."""


class Engine(Protocol):
    """A running cluster; ``accepts`` names its own kinds of data, for messages."""

    accepts: str

    def host(self) -> str:
        """Return the address of this machine that workers can reach."""

    def n_workers(self, wanted: int | None) -> int:
        """Return how many workers are available now, at most as many as are wanted.

        Raises
        ------
        NoWorkersError : if there are none
        """

    def source(
        self, name: str, data: Any, arrays: FitData | None, options: Mapping[str, Any]
    ) -> DataSource | None:
        """Return a data set of this engine with its columns resolved; None for other data."""

    def start(self, task: FitTask, sources: list[DataSource]) -> RunningTasks:
        """Start one task per worker, each with its partitions of the data."""

    def predict(self, scorer: PartitionScorer, data: Any) -> Any:
        """Return lazy scores of data of this engine; None for other data."""

    def predict_files(self, scorer: PartitionScorer, paths: list[str]) -> Any:
        """Return lazy scores of files."""


def address_towards(host: str) -> str:
    """Return the address of this machine's interface that routes to a host; nothing is sent."""
    family = socket.getaddrinfo(host, 9)[0][0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))
        return str(probe.getsockname()[0])
