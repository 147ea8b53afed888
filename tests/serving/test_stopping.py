"""The end of a server in its own process: who is answered, refused, closed."""

from __future__ import annotations

import asyncio
import socket
import sys

import pytest
from tests.serving.test_connections import BODY, SECONDS, post

from rankgrove.serving import http_connection
from rankgrove.serving.http_server import CLOSE, HttpServer
from rankgrove.serving.listener import stop_handshakes
from rankgrove.serving.service import Service


async def start(model_file):
    """Return a running server, its task and its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = HttpServer(Service({"web": model_file}, reload_seconds=0), listener)
    ready = asyncio.Event()
    running = asyncio.create_task(server.run(ready.set))
    await ready.wait()
    return server, running, listener.getsockname()


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


def test_a_connection_made_before_the_stop_brings_its_first_request_after_it(
    model_files, monkeypatch
):
    monkeypatch.setattr(http_connection, "NEW_SECONDS", 10 * SECONDS)

    async def check():
        server, running, address = await start(model_files[0])
        reader, writer = await asyncio.open_connection(*address)
        await until(lambda: server.connections)
        server.stop(CLOSE)
        await until(lambda: server._listener.fileno() < 0)
        writer.write(post(BODY))
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        assert b"connection: close" in await reader.read()
        writer.close()
        await running

    asyncio.run(asyncio.wait_for(check(), SECONDS))


def test_a_connection_that_brings_no_request_is_closed(model_files, monkeypatch):
    monkeypatch.setattr(http_connection, "NEW_SECONDS", 0.01)

    async def check():
        server, running, address = await start(model_files[0])
        reader, writer = await asyncio.open_connection(*address)
        await until(lambda: server.connections)
        server.stop(CLOSE)
        assert await reader.read() == b""
        writer.close()
        await running

    asyncio.run(asyncio.wait_for(check(), SECONDS))


@pytest.mark.skipif(sys.platform != "linux", reason="packet filters of Linux")
def test_a_listener_that_stops_handshakes_keeps_those_that_were_made():
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as made,
    ):
        stop_handshakes(listener)
        with socket.socket() as late:
            late.settimeout(0.2)
            with pytest.raises(TimeoutError):
                late.connect(listener.getsockname())
        made.sendall(b"request")
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.recv(7) == b"request"
            accepted.sendall(b"response")
        assert made.recv(8) == b"response"
