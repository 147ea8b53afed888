"""How workers share out the connections of a server."""

from __future__ import annotations

import asyncio
import socket

from tests.serving.test_connections import SECONDS
from tests.serving.test_stopping import until

from rankgrove.serving.connection_counts import ConnectionCounts
from rankgrove.serving.http_server import CLOSE, DRAIN, HttpServer
from rankgrove.serving.service import Service


def declines(numbers, place=0):
    return ConnectionCounts(numbers, place).should_decline()


def test_the_worker_with_fewest_connections_takes_the_next():
    assert declines([1, 0])
    assert not declines([1, 0], 1)
    assert not declines([1, 1])
    assert not declines([1, 1], 1)
    assert declines([2, 1, 2], 2)
    assert not declines([17, 16])  # of many, some more are no matter
    assert declines([19, 16])


def test_nobody_waits_for_a_worker_that_does_not_accept():
    assert not declines([5, -1])
    assert declines([5, -1, 3])
    assert not declines([-1])


def test_a_worker_that_does_not_react_is_waited_for_once():
    numbers = [1, 0]
    counts = ConnectionCounts(numbers, 0)
    assert sum(counts.should_decline() for _ in range(100)) == 20
    counts.set(2)
    assert not counts.should_decline()
    numbers[1] = 1  # it has reacted
    assert counts.should_decline()


def test_few_connections_are_shared_out_evenly(model_files):
    """Two servers listen on one socket, as two workers do, here in one process."""

    async def check():
        listener = socket.create_server(("127.0.0.1", 0))
        numbers = [-1, -1]
        servers, running = [], []
        for place, own in enumerate([listener, listener.dup()]):
            counts = ConnectionCounts(numbers, place)
            service = Service({"web": model_files[0]}, reload_seconds=0)
            servers.append(HttpServer(service, own, counts=counts, drain_seconds=SECONDS))
            ready = asyncio.Event()
            running.append(asyncio.create_task(servers[-1].run(ready.set)))
            await ready.wait()
        writers = []
        for n in range(8):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            writers.append(writer)
            await until(lambda n=n: sum(len(server.connections) for server in servers) > n)
        assert numbers == [4, 4]
        for writer in writers[:3]:
            writer.close()
        await until(lambda: sum(numbers) == 5)
        assert numbers == [len(server.connections) for server in servers]
        servers[0].stop(DRAIN)  # it goes on accepting, but nobody waits for it
        await until(lambda: numbers[0] == -1)
        assert not servers[1].counts.should_decline()
        for server in servers:
            server.stop(CLOSE)
        for writer in writers:
            writer.close()
        await asyncio.gather(*running)
        assert numbers == [-1, -1]

    asyncio.run(asyncio.wait_for(check(), SECONDS))
