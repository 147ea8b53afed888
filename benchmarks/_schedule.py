"""A simulator of the messages of a tree: who sends how much to whom, and when it arrives.

It follows ``native/distributed/halving.hpp`` frame by frame, and counts what that counts; a star,
in which worker 0 adds up for all, is simulated beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

HEADER = 16
FEW_VALUES = 8192  # kFewValues of native/distributed/mesh.cpp


@dataclass(frozen=True)
class Collective:
    """One collective operation: its name, the values summed (8 bytes each) or bytes per worker."""

    name: str  # "sum", "sum_scatter" or "gather"
    n: int
    n_extra: int = 0


@dataclass
class Network:
    """Machines on full-duplex links to one switch; times are in seconds.

    Attributes
    ----------
    latency : from a machine to another one
    frame : what a machine needs to send or receive a frame, whatever its size
    """

    size: int
    bytes_per_second: float
    latency: float
    frame: float = 50e-6
    now: list[float] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now = [0.0] * self.size
        self._out, self._in = [0.0] * self.size, [0.0] * self.size
        self.frames, self.sent, self.received = ([0] * self.size for _ in range(3))

    def step(self, frames: Sequence[tuple[int, int, int]]) -> None:
        """Move frames (sender, receiver, bytes); a worker goes on when it has received its own."""
        ready = list(self.now)
        for source, target, n_bytes in frames:
            length = (n_bytes + HEADER) / self.bytes_per_second
            begin = max(self.now[source], self._out[source]) + self.frame
            self._out[source] = begin + length
            end = max(begin + self.latency, self._in[target]) + length + self.frame
            self._in[target] = end
            ready[target] = max(ready[target], end)
            ready[source] = max(ready[source], begin)
            self.frames[source] += 1
            self.sent[source] += n_bytes + HEADER
            self.received[target] += n_bytes + HEADER
        self.now = ready


def without_centre(network: Network, work: Sequence[Collective]) -> None:
    """Run collective operations by recursive halving."""
    for one in work:
        size = network.size
        if one.name == "sum_scatter":
            _halve(network, [one.n * r // size for r in range(size + 1)], one.n_extra)
        elif one.name == "gather":
            _gather(network, one.n)
        elif one.n * size <= FEW_VALUES:
            _gather(network, 8 * one.n)
        else:
            bounds = [one.n * r // size for r in range(size + 1)]
            _halve(network, bounds, 0)
            for frames in reversed(_steps(size)):
                network.step(
                    [(a, b, 8 * (bounds[own[1]] - bounds[own[0]])) for b, a, other, own in frames]
                )


def in_a_star(network: Network, work: Sequence[Collective]) -> None:
    """Run the same with worker 0 in the centre, which sends everybody all sums."""
    others = range(1, network.size)
    for one in work:
        there = one.n if one.name == "gather" else 8 * (one.n + one.n_extra)
        back = (there + 8) * network.size if one.name == "gather" else there
        network.step([(r, 0, there) for r in others])
        network.step([(0, r, back) for r in others])


def _halve(network: Network, bounds: list[int], n_extra: int) -> None:
    for frames in _steps(network.size):
        network.step(
            [
                (a, b, 8 * (bounds[other[1]] - bounds[other[0]] + n_extra))
                for a, b, other, _ in frames
            ]
        )


def _gather(network: Network, n_bytes: int) -> None:
    for frames in reversed(_steps(network.size)):
        network.step([(a, b, (8 + n_bytes) * (own[1] - own[0])) for b, a, other, own in frames])


Range = tuple[int, int]


def _steps(size: int) -> list[list[tuple[int, int, Range, Range]]]:
    """Return the steps on the way down: (sender, receiver, receiver's half, ...) of each frame.

    On the way up the same pairs send the other way: the receiver above sends its own half.
    """
    steps: list[list[tuple[int, int, Range, Range]]] = []
    groups = [(0, size)]
    while any(end - begin > 1 for begin, end in groups):
        frames, halves = [], []
        for begin, end in groups:
            middle = begin + (end - begin + 1) // 2
            if end - begin == 1:
                halves.append((begin, end))
                continue
            first, second = (begin, middle), (middle, end)
            for place in range(middle - begin):
                partner = middle + min(place, end - middle - 1)
                frames.append((begin + place, partner, second, second))
                if place < end - middle:
                    frames.append((partner, begin + place, first, first))
            halves += [first, second]
        steps.append(frames)
        groups = halves
    return steps
