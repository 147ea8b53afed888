"""Which workers of a Dask cluster keep a fit waiting, without a cluster."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

pytest.importorskip("dask.distributed")

from rankgrove.distributed.on_dask import DaskEngine


@dataclass(frozen=True)
class Future:
    key: str


class Cluster:
    """A client whose workers both have a task to do, last heard of some seconds ago."""

    def __init__(self, ages):
        now = time.time()
        workers = {name: SimpleNamespace(last_seen=now - age) for name, age in ages.items()}
        self.scheduler = SimpleNamespace(workers=workers)

    def run_on_scheduler(self, function):
        return function(dask_scheduler=self.scheduler)

    def processing(self):
        return dict.fromkeys(self.scheduler.workers, ("part",))

    def nthreads(self):
        return dict.fromkeys(self.scheduler.workers, 1)

    def cancel(self, futures, force):
        pass


@pytest.mark.parametrize(
    ("ages", "named"),
    [
        ({"one": 0.5, "two": 9000}, "(two)"),  # one waits for data that two holds
        ({"one": 9000, "two": 0.5, "three": 1}, "(one)"),
        ({"one": 0.5, "two": 0.5}, "(one, two)"),
    ],
)
def test_workers_that_the_scheduler_still_hears_are_not_blamed(ages, named):
    engine = DaskEngine(Cluster(ages))
    waiting = {Future("part"): SimpleNamespace(name="partition 3")}
    loss = engine._lost(waiting, patience=3600)
    assert str(loss) == f"partition 3 was not computed within 3600 seconds by its worker {named}"
    assert loss.rank == sorted(ages).index(named.strip("()").partition(",")[0])
