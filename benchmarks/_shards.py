"""What a worker holds per value: its anonymous memory, its temporary files, and what bins cost.

Workers are processes of this machine that read their files of a folder, as those of a cluster do. A
thread of each samples its memory and its temporary files (which have no names).
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from _report import Report

_SAMPLE_SECONDS = 0.01


def shards_table(report: Report, args: Any) -> None:
    """Print bytes per value of each worker; the model has the bytes of one machine's."""
    import rankgrove
    from rankgrove.formats.container import to_bytes

    rows, held = [], []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        n_values = make_files(Path(folder), args.shard_queries, max(args.shard_workers))
        for n_workers in args.shard_workers:
            ranker = make_ranker(args.shard_trees)
            engine = ProcessEngine(n_workers)
            rankgrove.distributed.fit(ranker, folder, on=engine)
            found = engine.measured()
            most = {name: max(one[name] for one in found) for name in found[0]}
            own = n_values / n_workers
            held.append((own, most["anonymous in trees"] + most["files in trees"]))
            rows.append(
                [
                    n_workers,
                    f"{own / 1e6:.1f}",
                    most["anonymous"] / own,
                    most["files"] / own,
                    most["anonymous in trees"] / own,
                    most["files in trees"] / own,
                    most["sent for bins"] / own,
                ]
            )
            if args.quick:
                local = make_ranker(args.shard_trees).fit(rankgrove.load(folder))
                report.note(f"The model of one machine: {to_bytes(ranker) == to_bytes(local)}")
    report.table(
        [
            *("workers", "million values each", "anonymous, most", "files, most"),
            *("anonymous in trees", "files in trees", "sent for bins"),
        ],
        rows,
        f"Bytes per value of the worker that needs most, {n_values:,} values in all, 136 features",
    )
    if len(held) > 1:
        (large, of_large), (small, of_small) = held[:2]
        growing = (of_large - of_small) / (large - small)
        fixed = (of_large - growing * large) / 1e6
        report.note(
            f"While trees grow, {growing:.2f} bytes per value (anonymous and files together) grow "
            f"with the shard, by the first two lines, and {fixed:.0f} MB do not."
        )
    report.note(
        "Anonymous memory is that of a worker minus its memory after all imports; it includes "
        "labels, scores and gradients (some 60 bytes per row). Files are temporary: float32 "
        "features until the codes are computed, then the codes and the row store, which are "
        "mapped."
    )


def make_ranker(n_trees: int) -> Any:
    import rankgrove

    return rankgrove.LambdaMART(n_estimators=n_trees, random_state=1, n_jobs=1)


def make_files(folder: Path, n_queries: int, n_files: int) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from rankgrove.data.writing import to_arrow
    from rankgrove.datasets import make_ranking

    n_values = 0
    for number in range(n_files):
        data = make_ranking(n_queries // n_files, preset="mslr", seed=number)
        table = to_arrow(data)
        qid = np.asarray(data.qid) + number * n_queries
        names = [name for name in table.column_names if name in ("qid", "query", "query_id")]
        place = table.column_names.index(names[0])
        table = table.set_column(place, names[0], pa.array(qid))
        pq.write_table(table, folder / f"{number:02}.parquet", row_group_size=1 << 15)
        n_values += data.n_rows * data.n_features
    return n_values


class ProcessEngine:
    """An engine whose workers are processes of this machine."""

    accepts = "paths"

    def __init__(self, size: int) -> None:
        self.size = size
        self._processes: list[subprocess.Popen[bytes]] = []
        self._folder = tempfile.TemporaryDirectory()

    def host(self) -> str:
        return "127.0.0.1"

    def n_workers(self, wanted: int | None) -> int:
        return self.size

    def source(self, *_: Any) -> None:
        return None

    def start(self, task: Any, sources: list[Any]) -> ProcessEngine:
        from rankgrove.distributed.partitions import assign_partitions

        held = [assign_partitions(source.partitions, self.size) for source in sources]
        for rank in range(self.size):
            job = Path(self._folder.name) / f"{rank}.pickle"
            job.write_bytes(pickle.dumps((task, rank, [source[rank] for source in held], 1)))
            command = [sys.executable, __file__, str(job), str(job.with_suffix(".json"))]
            self._processes.append(subprocess.Popen(command))
        return self

    def check(self) -> None:
        for rank, process in enumerate(self._processes):
            if process.poll():
                raise RuntimeError(f"worker {rank} ended with {process.returncode}")

    def exclude(self, rank: int) -> None:
        pass

    def stop(self) -> None:
        for process in self._processes:
            process.wait(60)

    def measured(self) -> list[dict[str, int]]:
        folder = Path(self._folder.name)
        return [json.loads((folder / f"{r}.json").read_text()) for r in range(self.size)]


class Sampler:
    """Samples memory and temporary files of this process in a thread."""

    def __init__(self) -> None:
        self._base = anonymous_bytes()
        self.anonymous = self.files = 0
        self._stopped = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self._stopped.wait(_SAMPLE_SECONDS):
            self.anonymous = max(self.anonymous, anonymous_bytes() - self._base)
            self.files = max(self.files, temporary_bytes())

    def stop(self) -> None:
        self._stopped.set()


def anonymous_bytes() -> int:
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("/proc/self/smaps_rollup tells no anonymous memory")


def temporary_bytes() -> int:
    """Return the bytes of open and mapped files that have no name."""
    found = {}
    for entry in [*os.scandir("/proc/self/fd"), *os.scandir("/proc/self/map_files")]:
        with contextlib.suppress(OSError):
            if "(deleted)" in os.readlink(entry.path):
                about = os.stat(entry.path)
                found[about.st_dev, about.st_ino] = 512 * about.st_blocks
    return sum(found.values())


def work(job: Path, answer: Path) -> None:
    """Take part in a fit, and write what was measured."""
    import rankgrove.distributed.worker as worker
    from rankgrove.boosting.loop import Boosting
    from rankgrove.workers.run_exchange import RunExchange

    task, rank, sets, n_threads = pickle.loads(job.read_bytes())
    rankgrove_modules()
    whole = Sampler()
    trees: list[Sampler] = []
    sent = []
    exchange, step = RunExchange.run, Boosting.step

    def counted(self: Any, make: Any) -> Any:
        before = self.communicator.traffic.bytes_sent
        found = exchange(self, make)
        sent.append(self.communicator.traffic.bytes_sent - before)
        return found

    def sampled(self: Any) -> None:
        if not trees:
            trees.append(Sampler())
            trees[0]._base = whole._base
        step(self)

    RunExchange.run, Boosting.step = counted, sampled  # type: ignore[method-assign, assignment]
    worker.run_worker(task, rank, sets, n_threads)
    time.sleep(2 * _SAMPLE_SECONDS)
    measured = {
        "anonymous": whole.anonymous,
        "files": whole.files,
        "anonymous in trees": trees[0].anonymous,
        "files in trees": trees[0].files,
        "sent for bins": sum(sent),
    }
    answer.write_text(json.dumps(measured))


def rankgrove_modules() -> None:
    """Import what a fit imports, and let its threads and buffers come into being."""
    import pyarrow.parquet  # noqa: F401

    from rankgrove.datasets import make_ranking

    make_ranker(1).fit(make_ranking(5, seed=0))


if __name__ == "__main__":
    work(Path(sys.argv[1]), Path(sys.argv[2]))
