"""Collective operations of a fit on shaped links: without a centre, and in a star.

Every worker is a process in a network namespace. It fits its shard, notes the collective operations
of a tree, and then repeats these alone, to time the network without the computing.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from _network import NotAllowed, shaped_links
from _report import Report
from _schedule import Collective, Network, in_a_star, without_centre
from rankgrove.distributed import Communicator

PORT = 47011
REPEATS = 3


class Tracing(Communicator):
    """Passes operations on to another communicator, and notes them."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.rank, self.size = inner, inner.rank, inner.size
        self.noted: list[Collective] = []

    def sum(self, values: Any) -> None:
        self.noted.append(Collective("sum", len(values)))
        self.inner.sum(values)

    def maximum(self, values: Any) -> None:
        self.noted.append(Collective("sum", len(values)))
        self.inner.maximum(values)

    def sum_scatter(self, values: Any, bounds: Any, extra: Any) -> None:
        self.noted.append(Collective("sum_scatter", len(values), len(extra)))
        self.inner.sum_scatter(values, bounds, extra)

    def gather(self, data: bytes) -> list[bytes]:
        self.noted.append(Collective("gather", len(data)))
        return list(self.inner.gather(data))

    def broadcast(self, data: bytes) -> bytes:
        return bytes(self.inner.broadcast(data))

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        return list(self.inner.exchange(parts))

    @property
    def traffic(self) -> Any:
        return self.inner.traffic

    def abort(self, reason: str) -> None:
        self.inner.abort(reason)

    def close(self) -> None:
        self.inner.close()


class Star(Tracing):
    """The same operations over worker 0, which adds up and sends everybody all sums."""

    def _over_hub(self, data: bytes, combine: Any) -> bytes:
        """Send data to worker 0, and get back what it makes of all of them."""
        none = [b""] * (self.size - 1)
        received = self.inner.exchange([data, *none] if self.rank else [b"", *none])
        answers = [b""] * self.size
        if self.rank == 0:
            answers = [b"", *[combine([data, *received[1:]])] * (self.size - 1)]
            own = answers[-1] if self.size > 1 else combine([data])
            self.inner.exchange(answers)
            return own
        return self.inner.exchange(answers)[0]

    def sum(self, values: Any) -> None:
        total = self._over_hub(values.tobytes(), _added)
        values[:] = np.frombuffer(total, np.int64)

    def sum_scatter(self, values: Any, bounds: Any, extra: Any) -> None:
        both = np.concatenate([values, extra])
        self.sum(both)
        values[:], extra[:] = both[: len(values)], both[len(values) :]

    def gather(self, data: bytes) -> list[bytes]:
        whole = self._over_hub(data, lambda parts: json.dumps([p.hex() for p in parts]).encode())
        return [bytes.fromhex(part) for part in json.loads(whole)]


def _added(parts: Sequence[bytes]) -> bytes:
    return sum(np.frombuffer(part, np.int64) for part in parts).tobytes()


def measure(folder: str, job: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the workers of a job in namespaces; return what each tells."""
    size = job["size"]
    with shaped_links(size, job["megabits"], job["latency_ms"], job["burst_kb"]) as links:
        shared = {**job, "token": secrets.token_hex(32), "address": f"{links.addresses[0]}:{PORT}"}
        processes = [
            subprocess.Popen(
                [*links.command(rank), sys.executable, sys.argv[0], "--linked",
                 json.dumps(shared | {"rank": rank, "folder": folder})],
                stdout=subprocess.PIPE, text=True,
                env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
            for rank in range(size)
        ]  # fmt: skip
        answers = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError("a worker process failed")
    return [{**json.loads(text.splitlines()[-1]), "latency": links.latency_ms} for text in answers]


def work(job: dict[str, Any]) -> None:
    """Fit a shard in this process, then repeat the operations of its last tree."""
    import hashlib

    import rankgrove
    from rankgrove.distributed import Hub, Shard, fit_shard, join
    from rankgrove.formats.container import to_bytes

    rank, size, token = job["rank"], job["size"], bytes.fromhex(job["token"])
    sizes = np.load(f"{job['folder']}/sizes.npy")[: job["queries"]]
    ends = np.r_[0, np.cumsum(sizes)]
    first, last = (len(sizes) * r // size for r in (rank, rank + 1))
    mine = slice(int(ends[first]), int(ends[last]))
    X = np.load(f"{job['folder']}/X.npy", mmap_mode="r")[mine].copy()
    y = np.load(f"{job['folder']}/y.npy")[mine]
    qid = np.repeat(np.arange(first, last), sizes[first:last])
    host = job["address"].split(":")[0]
    joined = (
        Hub(host, PORT).accept(size, token)
        if rank == 0
        else join(job["address"], rank, size, token)
    )
    with Tracing(joined) as communicator:
        starts: list[int] = []
        ranker = fit_shard(
            rankgrove.LambdaMART(
                n_estimators=job["trees"],
                tree="leafwise",
                max_leaf_nodes=31,
                random_state=1,
                n_jobs=1,
            ),
            Shard(X, y, qid),
            communicator,
            on_step=None if rank else lambda *_: starts.append(len(communicator.noted)) or False,
        )
        marks = communicator.broadcast(json.dumps(starts).encode())
        begin, end = json.loads(marks)[-2:]
        tree = communicator.noted[begin:end]
        again = Star(joined) if job["star"] else joined
        _repeat(again, tree)
        joined.barrier()
        before, start = joined.traffic, time.perf_counter()
        for _ in range(REPEATS):
            _repeat(again, tree)
        seconds, after = (time.perf_counter() - start) / REPEATS, joined.traffic
        empty = (size - 1) * 2 * len(tree) - _star_frames(rank, size, len(tree))
        skipped = empty if job["star"] else 0  # an exchange sends headers to everybody
        print(
            json.dumps(
                {
                    "seconds": seconds,
                    "frames": (after.frames_sent - before.frames_sent) / REPEATS - skipped,
                    "sent": (after.bytes_sent - before.bytes_sent) / REPEATS - 16 * skipped,
                    "tree": [[one.name, one.n, one.n_extra] for one in tree],
                    "model": hashlib.sha256(to_bytes(ranker)).hexdigest(),
                }
            )
        )


def _star_frames(rank: int, size: int, n: int) -> int:
    return n * (1 if rank else size - 1)


def _repeat(communicator: Any, tree: Sequence[Collective]) -> None:
    """Repeat operations on zeros."""
    size = communicator.size
    for one in tree:
        if one.name == "gather":
            communicator.gather(bytes(one.n))
        elif one.name == "sum":
            communicator.sum(np.zeros(one.n, np.int64))
        else:
            bounds = (np.arange(size + 1) * one.n // size).astype(np.int64)
            communicator.sum_scatter(
                np.zeros(one.n, np.int64), bounds, np.zeros(one.n_extra, np.int64)
            )


def links_table(report: Report, folder: str, args: Any) -> list[Collective]:
    """Print measured and simulated traffic of a tree; return its operations."""
    rows, models, tree = [], set(), []
    for star in (False, True):
        for size in args.linked_workers:
            seconds = []
            for burst_kb in args.burst_kb:
                job = {
                    "size": size, "star": star, "queries": args.linked_queries, "trees": 3,
                    "megabits": args.megabits, "latency_ms": args.latency_ms, "burst_kb": burst_kb,
                }  # fmt: skip
                try:
                    found = measure(folder, job)
                except NotAllowed as error:
                    report.note(f"Shaped links: SKIPPED, this system does not allow them: {error}")
                    return default_tree()
                seconds.append(max(one["seconds"] for one in found))
                models.add(found[0]["model"])
            print(f"{size} workers, star={star}: {seconds} s", file=sys.stderr)
            tree = [Collective(*one) for one in found[0]["tree"]]
            network = Network(size, args.megabits * 1e6 / 8, found[0]["latency"] / 1e3)
            (in_a_star if star else without_centre)(network, tree)
            rows.append(
                [
                    f"{'star' if star else 'halving'}, {size}",
                    max(one["sent"] for one in found) / 1e6,
                    max(network.sent) / 1e6,
                    f"{max(one['frames'] for one in found):.0f}",
                    max(network.frames),
                    *seconds,
                    max(network.now),
                ]
            )
    report.table(
        [
            *("schedule, workers", "MB sent/tree, most", "simulated", "frames/tree, most"),
            *("simulated", *(f"seconds/tree, burst {kb} kB" for kb in args.burst_kb), "simulated"),
        ],
        rows,
        f"The messages of a tree of 31 leaves on links of {args.megabits} Mbit/s",
    )
    added = found[0]["latency"]
    report.note(
        f"Different model files: {len(models)} (1: the same bits for all). All fits go by "
        "halving; a star repeats the operations of a tree, to be timed. Latency added to "
        f"the links: {added:g} ms"
        + ("." if added else " (the kernel has no netem: only the bandwidth is limited).")
        + " The burst is the amount that the traffic shaper passes at once after a pause. The "
        "simulator models neither bursts nor TCP: its bytes and frames can be compared with those "
        "sent, its seconds only as far as these two columns agree. Other work ran on the machine "
        "meanwhile."
    )
    return tree


def default_tree() -> list[Collective]:
    """Return the operations of a tree of 31 leaves, 136 features of 255 bins."""
    split = [Collective("sum_scatter", 136 * 255, 1), Collective("gather", 144)]
    return [Collective("sum", 2), Collective("sum", 3), *split * 30, Collective("sum", 93)]


def machines_table(report: Report, tree: Sequence[Collective], megabits: int, ms: float) -> None:
    """Print what the simulator says of many machines."""
    rows = []
    for size in (2, 10, 100, 1000):
        for name, run in (("halving", without_centre), ("star", in_a_star)):
            network = Network(size, megabits * 1e6 / 8, ms / 1e3)
            run(network, tree)
            rows.append(
                [f"{name}, {size}", max(network.sent) / 1e6, max(network.received) / 1e6,
                 max(network.frames), max(network.now)]
            )  # fmt: skip
    columns = ["schedule, machines", "MB sent/tree, most", "MB received, most", "frames", "seconds"]
    caption = f"Simulated: a tree's messages at {megabits / 1000:g} Gbit/s and {ms:g} ms"
    report.table(columns, rows, caption)
