"""One fit on many machines: the same bits as on one.

Every worker holds a *shard*, whole queries that follow those of the worker before it, and calls
``fit_shard``; all of them return the ranker that one ``fit`` on all data would give. Between them
they exchange sums of integers over a ``Communicator``. What places the shards and starts the
workers (Dask, Ray, Spark) stands on top of this.
"""

from __future__ import annotations

from rankgrove.distributed.communicator import Communicator
from rankgrove.distributed.fitting import fit_shard
from rankgrove.distributed.joining import Hub, join
from rankgrove.distributed.shard import Shard
from rankgrove.errors import WorkerError, WorkerFailed, WorkerLost

__all__ = [
    "Communicator",
    "Hub",
    "Shard",
    "WorkerError",
    "WorkerFailed",
    "WorkerLost",
    "fit_shard",
    "join",
]
