"""Clusters for quick tests: workers are threads of this process, or processes that are kept."""

from __future__ import annotations

import pickle
import threading

import pytest

from fleet import Fleet
from rankgrove.distributed.engine import Source
from rankgrove.distributed.parts import Part, settled_options, shares
from rankgrove.distributed.worker import work


class ThreadTasks:
    def __init__(self, threads):
        self._threads = threads

    def check(self):
        pass

    def stop(self):
        for thread in self._threads:
            thread.join(10)


class ThreadEngine:
    """An engine whose own data are lists of Arrow tables; ``size`` workers."""

    takes = "lists of tables"

    def __init__(self, size):
        self.size = size

    def host(self):
        return "127.0.0.1"

    def n_workers(self, wanted):
        return min(self.size, wanted or self.size)

    def source(self, name, data, arrays, options):
        if not (isinstance(data, list) and data and hasattr(data[0], "schema")):
            return None
        settled, wanted = settled_options(data[0].schema, options)
        parts = [
            Part(number, f"{name}, table {number}", table.select(wanted))
            for number, table in enumerate(data)
        ]
        return Source(name, settled, frame=parts)

    def start(self, job, sources):
        held = [shares(source.frame or source.parts, self.size) for source in sources]
        threads = []
        for rank in range(self.size):
            own = pickle.loads(pickle.dumps(job))
            arguments = (own, rank, [source[rank] for source in held], 1)
            threads.append(threading.Thread(target=work, args=arguments, daemon=True))
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
