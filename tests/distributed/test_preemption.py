"""Workers that are killed at random, as where machines are taken away: the model is the same."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import warnings

import pytest

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.distributed import fit
from rankgrove.distributed.driver_hub import DriverHub
from rankgrove.distributed.engine import DataSource
from rankgrove.distributed.messages import MessageKind
from rankgrove.distributed.partitions import assign_partitions
from rankgrove.distributed.worker import run_worker
from rankgrove.formats.container import to_bytes

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.timeout(1800)]

N_WORKERS, N_KILLS, N_TREES = 3, 20, 200


class Processes:
    """The workers of one attempt, each a process."""

    def __init__(self, processes):
        self._processes = processes

    def check(self):
        pass

    def exclude(self, rank):
        pass

    def stop(self):
        for process in self._processes:
            process.join(20)
            if process.is_alive():
                process.kill()
                process.join()


class ProcessEngine:
    """Starts new processes for every attempt, as a cluster brings new machines."""

    accepts = "paths"

    def __init__(self):
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["rankgrove.distributed.worker"])

    def host(self):
        return "127.0.0.1"

    def n_workers(self, wanted):
        return N_WORKERS

    def source(self, name, data, arrays, options):
        return None

    def start(self, task, sources: list[DataSource]):
        held = [assign_partitions(source.partitions, N_WORKERS) for source in sources]
        processes = [
            self._context.Process(
                target=run_worker, args=(task, rank, [source[rank] for source in held], 1)
            )
            for rank in range(N_WORKERS)
        ]
        for process in processes:
            process.start()
        return Processes(processes)


@pytest.fixture
def kills(monkeypatch):
    """Kill a random worker a random moment after a random number of steps, again and again."""
    chance, next_message = random.Random(5), DriverHub.next
    killed, processes = [], {}
    state = {"steps": 0, "wanted": chance.randint(1, 5)}

    def next_and_kill(self, seconds):
        message = next_message(self, seconds)
        if message is None:
            return None
        if message.kind is MessageKind.JOINED:
            processes[message.rank] = message.values["process"]
        if message.kind is MessageKind.STEP and len(processes) == N_WORKERS:  # of a new attempt
            state["steps"] += 1
            if state["steps"] == state["wanted"] and len(killed) < N_KILLS:
                victim = processes[chance.randrange(N_WORKERS)]
                killed.append(victim)
                processes.clear()
                state.update(steps=0, wanted=chance.randint(1, 5))
                threading.Timer(chance.uniform(0, 0.005), os.kill, (victim, signal.SIGKILL)).start()
        return message

    monkeypatch.setattr(DriverHub, "next", next_and_kill)
    return killed


@pytest.mark.parametrize(
    ("ranker", "share"),
    [
        (rankgrove.LambdaMART(n_estimators=N_TREES, random_state=3, subsample=0.7), None),
        (rankgrove.RFPoint(n_estimators=24 * N_TREES, random_state=3, max_depth=3), "rows"),
    ],
    ids=["boosting", "forest"],
)
def test_twenty_kills_end_in_the_same_bytes(kills, tmp_path, monkeypatch, ranker, share):
    """A round of a forest has 24 trees, so that it takes as many steps."""
    data = make_ranking(180, seed=3)
    for part in range(6):
        rankgrove.write_letor(
            data.select_queries(range(30 * part, 30 * part + 30)), tmp_path / f"{part}.txt"
        )
    paths = sorted(tmp_path.iterdir())
    local = type(ranker)(**ranker.get_params()).fit(rankgrove.load(paths))
    monkeypatch.setattr("rankgrove.distributed.driver.find_engine", lambda on: on)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        far = fit(ranker, paths, on=ProcessEngine(), share=share, patience=60)
    lost = [str(one.message) for one in caught if "the fit goes on after step" in str(one.message)]
    assert len(kills) == N_KILLS
    assert len(lost) == N_KILLS
    assert to_bytes(far) == to_bytes(local)
