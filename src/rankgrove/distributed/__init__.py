"""One fit on many machines, with the same bits as on one.

``fit`` and ``predict`` take a Dask client, ``"ray"`` or a SparkSession.

Below them, every worker holds a *shard*, whole queries that follow those of the worker before it,
and calls ``fit_shard``; all of them return the ranker that one ``fit`` on all data would give. They
all-reduce integers over a ``Communicator``. The engines
(``on_dask``, ``on_ray``, ``on_spark``) place the data and start the workers.
"""

from __future__ import annotations

from rankgrove.distributed.driver import fit
from rankgrove.distributed.prediction import predict
from rankgrove.distributed.rendezvous import Hub, join
from rankgrove.distributed.shard import Shard
from rankgrove.distributed.shard_fit import fit_shard
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
