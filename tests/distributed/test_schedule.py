"""The simulator of benchmarks sends what the workers send, byte by byte."""

from __future__ import annotations

import secrets
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from rankgrove.distributed import Hub, join

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from _schedule import Collective, Network, in_a_star, without_centre

WORK = [
    Collective("sum", 3),
    Collective("sum_scatter", 10_007, 2),
    Collective("gather", 77),
    Collective("sum", 9_001),
]


def run(communicator):
    size = communicator.size
    for one in WORK:
        if one.name == "gather":
            communicator.gather(bytes(one.n))
        elif one.name == "sum":
            communicator.sum(np.zeros(one.n, np.int64))
        else:
            bounds = (np.arange(size + 1) * one.n // size).astype(np.int64)
            extra = np.zeros(one.n_extra, np.int64)
            communicator.sum_scatter(np.zeros(one.n, np.int64), bounds, extra)
    return communicator.traffic


@pytest.mark.parametrize("size", [2, 3, 5, 6, 8])
def test_bytes_and_frames_of_every_worker_are_simulated_exactly(size):
    hub, token = Hub(), secrets.token_bytes(32)
    found = [None] * size

    def take_part(rank):
        make = hub.accept(size, token) if rank == 0 else join(hub.address, rank, size, token)
        with make as communicator:
            found[rank] = run(communicator)

    threads = [threading.Thread(target=take_part, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    network = Network(size, 1e9, 1e-3)
    without_centre(network, WORK)
    assert network.frames == [one.frames_sent for one in found]
    assert network.sent == [one.bytes_sent for one in found]
    assert network.received == [one.bytes_received for one in found]


def test_what_a_worker_sends_for_histograms_does_not_grow_with_their_number_but_a_stars_hub_does():
    histogram = [Collective("sum_scatter", 100_000)]
    most = {}
    for size in (2, 16, 128):
        for run_work in (without_centre, in_a_star):
            network = Network(size, 1e9, 1e-3)
            run_work(network, histogram)
            most[run_work, size] = max(network.sent)
    assert most[without_centre, 128] < 1.01 * 800_000
    assert most[in_a_star, 128] > 100 * 800_000
    assert most[without_centre, 2] > 0.49 * 800_000


def test_time_is_bandwidth_and_latency_of_each_step():
    network = Network(2, bytes_per_second=1000.0, latency=0.5, frame=0.0)
    without_centre(network, [Collective("gather", 976)])
    assert network.now == [1.5, 1.5]  # 976 bytes, 8 of their length, 16 of the header
