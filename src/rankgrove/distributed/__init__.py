"""One fit on many machines: the same bits as on one.

``fit`` and ``predict`` take a Dask client, ``"ray"`` or a SparkSession; the rest is below them.

Every worker holds a *shard*, whole queries that follow those of the worker before it, and calls
``fit_shard``; all of them return the ranker that one ``fit`` on all data would give. Between them
they exchange sums of integers over a ``Communicator``. The engines
(``on_dask``, ``on_ray``, ``on_spark``) place the data and start the workers.
"""

from __future__ import annotations

from rankgrove.distributed.driving import fit
from rankgrove.distributed.fitting import fit_shard
from rankgrove.distributed.joining import Hub, join
from rankgrove.distributed.prediction import predict
from rankgrove.distributed.shard import Shard
from rankgrove.errors import WorkerError, WorkerFailed, WorkerLost
from rankgrove.workers.communicator import Communicator

__all__ = [
    "Communicator",
    "Hub",
    "Shard",
    "WorkerError",
    "WorkerFailed",
    "WorkerLost",
    "fit",
    "fit_shard",
    "join",
    "predict",
]
