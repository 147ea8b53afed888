"""Network namespaces with links of limited bandwidth, one for each worker process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass(frozen=True)
class Links:
    """Namespaces of workers, their addresses, and the latency that could be added."""

    names: list[str]
    addresses: list[str]
    latency_ms: float

    def command(self, rank: int) -> list[str]:
        """Return the command that runs another one on the machine of a worker."""
        return ["ip", "netns", "exec", self.names[rank]]


class NotAllowed(Exception):  # noqa: N818
    """This system does not allow namespaces or shaping; says which command failed."""


@contextmanager
def shaped_links(size: int, megabits: int, latency_ms: float, burst_kb: int) -> Iterator[Links]:
    """Connect so many namespaces by a switch; both ways of a link have the bandwidth.

    A link that was idle lets ``burst_kb`` through at once (a token bucket), so that messages which
    take turns are quicker than the bandwidth alone would allow.

    Latency needs netem, which many kernels of virtual machines lack; without it there is none.
    """
    mark = f"rg{os.getpid()}"
    switch, names = f"{mark}s", [f"{mark}w{rank}" for rank in range(size)]
    addresses = [f"10.77.{1 + rank // 200}.{1 + rank % 200}" for rank in range(size)]
    try:
        _run("ip", "netns", "add", switch)
        _run(*_in(switch), "ip", "link", "add", "name", "hub0", "type", "bridge")
        _run(*_in(switch), "ip", "link", "set", "hub0", "up")
        added = latency_ms
        for rank, name in enumerate(names):
            port = f"p{rank}"
            _run("ip", "netns", "add", name)
            _run(*_in(switch), "ip", "link", "add", port, "type", "veth", "peer", "name", "eth0",
                 "netns", name)  # fmt: skip
            _run(*_in(switch), "ip", "link", "set", port, "master", "hub0", "up")
            _run(*_in(name), "ip", "addr", "add", f"{addresses[rank]}/16", "dev", "eth0")
            for device in ("lo", "eth0"):
                _run(*_in(name), "ip", "link", "set", device, "up")
            added = min(added, _shape(name, "eth0", megabits, latency_ms, burst_kb))
            _shape(switch, port, megabits, 0.0, burst_kb)
        yield Links(names, addresses, added)
    finally:
        for name in (*names, switch):
            with suppress(NotAllowed):
                _run("ip", "netns", "del", name)


def _shape(name: str, device: str, megabits: int, latency_ms: float, burst_kb: int) -> float:
    """Limit what leaves a device; return the latency in ms that was added."""
    add = (*_in(name), "tc", "qdisc", "add", "dev", device, "root")
    if latency_ms:
        with suppress(NotAllowed):
            _run(*add, "netem", "delay", f"{latency_ms}ms", "rate", f"{megabits}mbit")
            return latency_ms
    _run(*add, "tbf", "rate", f"{megabits}mbit", "burst", f"{burst_kb}kb", "latency", "500ms")
    return 0.0


def _in(name: str) -> tuple[str, ...]:
    return ("ip", "netns", "exec", name)


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise NotAllowed(f"{command[0]}: {error}") from None
    if done.returncode:
        raise NotAllowed(f"{' '.join(command)}: {done.stderr.strip()}")
