"""Real servers in processes of their own, on free loopback ports."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import httpx
import pytest

from rankgrove import LambdaMART, make_ranker
from rankgrove.datasets import make_ranking

PATIENCE = 200  # seconds: only a server that hangs takes as long, on however busy a machine
ADDRESS = re.compile(r"on (http://\S+)")


@dataclass
class RunningServer:
    process: subprocess.Popen
    lines: list[str] = field(default_factory=list)
    address: str = ""
    client: httpx.Client = None

    def follow(self) -> None:
        """Read what the server logs, so that it never waits for a reader."""
        for line in self.process.stderr:
            self.lines.append(line)

    def said(self, words: str, seconds: float = PATIENCE) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if any(words in line for line in self.lines):
                return True
            time.sleep(0.02)
        return False

    def score(self, body, name=None, **parameters):
        path = "/score" if name is None else f"/models/{name}/score"
        return self.client.post(path, json=body, params=parameters)

    def connect(self) -> socket.socket:
        """Open a connection of its own."""
        host, port = self.address.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)), timeout=60)

    def stop(self, number=signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def start_server(*arguments) -> RunningServer:
    process = subprocess.Popen(
        [sys.executable, "-m", "rankgrove", "serve", *map(str, arguments), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    server = RunningServer(process)
    threading.Thread(target=server.follow, daemon=True).start()
    end = time.monotonic() + PATIENCE
    while not server.address:
        found = ADDRESS.search("".join(server.lines))
        if found:
            server.address = found[1]
        elif process.poll() is not None or time.monotonic() > end:
            process.kill()
            process.wait()
            raise RuntimeError("the server did not start:\n" + "".join(server.lines))
        time.sleep(0.02)
    server.client = httpx.Client(base_url=server.address, timeout=PATIENCE)
    return server


@pytest.fixture(scope="session")
def data():
    return make_ranking(40, seed=3)


@pytest.fixture(scope="session")
def ranker(data):
    return LambdaMART(n_estimators=20, random_state=0).fit(data)


@pytest.fixture(scope="session")
def pair_ranker(data):
    return make_ranker("rf-pair", n_estimators=3, random_state=0).fit(data)


@pytest.fixture(scope="session")
def model_files(ranker, pair_ranker, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    ranker.save(folder / "web.rg")
    pair_ranker.save(folder / "pairs.rg")
    return folder / "web.rg", folder / "pairs.rg"


@pytest.fixture
def start():
    """Start servers that end with the test."""
    servers = []

    def start_one(*arguments):
        servers.append(start_server(*arguments))
        return servers[-1]

    yield start_one
    for server in servers:
        server.client.close()
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


@pytest.fixture(scope="session")
def server(model_files):
    """One server with a model of trees, and one of pairs as 'against'."""
    web, pairs = model_files
    limits = ("--max-rows", 2000, "--max-body", 1 << 20, "--read-seconds", PATIENCE)
    running = start_server(web, f"against={pairs}", *limits, "--drain-seconds", 0)
    yield running
    running.client.close()
    assert running.stop() == 0, "".join(running.lines)


@pytest.fixture(scope="session")
def impatient_server(model_files):
    """A server that gives up after half a second, for requests that never end."""
    running = start_server(model_files[0], "--read-seconds", 0.5, "--drain-seconds", 0)
    yield running
    running.client.close()
    assert running.stop() == 0, "".join(running.lines)
