"""What an engine must do for a fit: say who can work, take its kind of data, start tasks.

Dask, Ray and Spark place data and start tasks, and replace machines. What the tasks of a fit say to
one another goes over the communicator, and what they say to the driver over the meeting.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from rankgrove.distributed.parts import Arrays, Part
from rankgrove.distributed.worker import Job

if TYPE_CHECKING:
    from rankgrove.distributed.prediction import Scoring


@dataclass(frozen=True)
class Source:
    """A data set as the driver knows it.

    Attributes
    ----------
    name : for messages
    options : how parts are read (options of ``load``)
    parts : what workers read themselves, or the driver sends along; none if ``frame`` has the data
    frame : data of an engine
    """

    name: str
    options: Mapping[str, Any]
    parts: list[Part] = field(default_factory=list)
    frame: Any = None


class Running(Protocol):
    """Tasks that were started."""

    def check(self) -> None:
        """Raise what the engine knows to have gone wrong: WorkerLost, or a task's own error."""

    def stop(self) -> None:
        """Wait a moment for tasks to end, and end those that do not."""


class Engine(Protocol):
    """A running cluster; ``takes`` are its own kinds of data."""

    takes: str

    def host(self) -> str:
        """Return the address of this machine that workers can reach."""

    def n_workers(self, wanted: int | None) -> int:
        """Return how many workers there can be now, at most as many as are wanted."""

    def source(
        self, name: str, data: Any, arrays: Arrays | None, options: Mapping[str, Any]
    ) -> Source | None:
        """Return a data set of this engine with its columns settled, None if it is not of it."""

    def start(self, job: Job, sources: list[Source]) -> Running:
        """Start one task per worker, each with its share of the data."""

    def predicted(self, scoring: Scoring, data: Any) -> Any:
        """Return the scores of data of this engine, lazily; None if the data are not of it."""

    def predicted_files(self, scoring: Scoring, paths: list[str]) -> Any:
        """Return the scores of files, lazily."""


def find_engine(on: Any) -> Engine:
    """Return the engine of a Dask client, ``"ray"``, or a SparkSession; or an Engine itself."""
    if all(hasattr(on, name) for name in ("host", "n_workers", "source", "start")):
        engine: Engine = on
        return engine
    if isinstance(on, str) and on == "ray":
        from rankgrove.distributed.on_ray import RayEngine

        return RayEngine()
    package = type(on).__module__.split(".")[0]
    if package == "distributed":
        from rankgrove.distributed.on_dask import DaskEngine

        return DaskEngine(on)
    if package == "pyspark":
        from rankgrove.distributed.on_spark import SparkEngine

        return SparkEngine(on)
    raise ValueError(f"on must be a Dask Client, 'ray' or a SparkSession, not {on!r:.100}")


def address_towards(host: str) -> str:
    """Return the address of this machine on the way to another one; nothing is sent."""
    family = socket.getaddrinfo(host, 9)[0][0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))
        return str(probe.getsockname()[0])
