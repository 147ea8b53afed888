"""The engine for what a user passes as ``on``."""

from __future__ import annotations

from typing import Any

from rankgrove.distributed.engine import Engine


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
