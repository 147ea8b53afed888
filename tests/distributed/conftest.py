"""Clusters for quick tests: workers are threads of this process, or processes that are kept."""

from __future__ import annotations

import contextlib
import pickle
import threading

import pytest

from fleet import Fleet
from rankgrove.distributed.driver_hub import DriverLinkError
from rankgrove.distributed.engine import DataSource
from rankgrove.distributed.partitions import Partition, assign_partitions, resolved_options
from rankgrove.distributed.worker import run_worker


def take_part(*arguments):
    """Run a worker; one that begins after its driver has ended is not missed."""
    with contextlib.suppress(DriverLinkError):
        run_worker(*arguments)


class ThreadTasks:
    def __init__(self, threads):
        self._threads = threads

    def check(self):
        pass

    def exclude(self, rank):
        pass

    def stop(self):
        for thread in self._threads:
            thread.join(10)


class ThreadEngine:
    """An engine whose own data are lists of Arrow tables; ``size`` workers."""

    accepts = "lists of tables"

    def __init__(self, size):
        self.size = size

    def host(self):
        return "127.0.0.1"

    def n_workers(self, wanted):
        return min(self.size, wanted or self.size)

    def source(self, name, data, arrays, options):
        if not (isinstance(data, list) and data and hasattr(data[0], "schema")):
            return None
        settled, wanted = resolved_options(data[0].schema, options)
        parts = [
            Partition(number, f"{name}, table {number}", table.select(wanted))
            for number, table in enumerate(data)
        ]
        return DataSource(name, settled, frame=parts)

    def start(self, task, sources):
        held = [
            assign_partitions(source.frame or source.partitions, self.size) for source in sources
        ]
        threads = []
        for rank in range(self.size):
            own = pickle.loads(pickle.dumps(task))
            arguments = (own, rank, [source[rank] for source in held], 1)
            threads.append(threading.Thread(target=take_part, args=arguments, daemon=True))
        for thread in threads:
            thread.start()
        return ThreadTasks(threads)


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    return ThreadEngine(request.param)


@pytest.fixture
def two_threads():
    return ThreadEngine(2)


@pytest.fixture(scope="session")
def thread_engine():
    return ThreadEngine


@pytest.fixture(scope="session")
def fleet():
    """Worker processes."""
    fleet = Fleet()
    fleet.warm_up()
    yield fleet
    fleet.close()
