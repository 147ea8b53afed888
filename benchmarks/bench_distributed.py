"""One LambdaMART on 1, 2 and 4 worker processes, beside forests, lightgbm.dask and xgboost.dask.

What it shows: seconds per tree, bytes and messages per tree (which do not grow with the rows), time
spent waiting, and what two workers of one thread cost over one of two threads, whose fits take
turns. Every worker is a process that holds whole queries of WEB10K-shaped data and talks over
loopback. Peers fit fewer rows, each in a process of its own that may take a few minutes::

    python benchmarks/bench_distributed.py            # 2 M rows; needs 6 GB and some minutes
    python benchmarks/bench_distributed.py --quick    # a minute or two, to see that it works
    python benchmarks/bench_distributed.py --peers    # whole fits on Dask, beside peers
    python benchmarks/bench_distributed.py --forests  # a forest whose rows are shared, and boosting
    python benchmarks/bench_distributed.py --links    # 1 to 16 workers on slow links
    python benchmarks/bench_distributed.py --shards   # bytes per value of a worker

``--links`` puts each worker into a network namespace (it needs root, ``ip`` and ``tc``), and prints
bytes, frames and seconds of a tree without a centre and in a star, beside what a simulator of the
same schedule says; then it asks the simulator for 100 and 1,000 machines. ``--shards`` prints
what a worker holds per value, in memory and in files, and what it sends for exact bins.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import _links
import _shards
from _report import Report, benchmark_arguments, ratio

LEAVES, LEARNING_RATE = 31, 0.1


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--queries", type=int, default=17_000, help="of about 120 documents")
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=3, help="of 2 workers and of 2 threads")
    parser.add_argument("--peer-queries", type=int, default=2_500)
    parser.add_argument("--peer-trees", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=3.0, help="for one fit beside peers")
    parser.add_argument("--peers", action="store_true", help="only the table of peers on Dask")
    parser.add_argument("--forests", action="store_true", help="only the table of forests")
    parser.add_argument("--forest-queries", type=int, default=4_000)
    parser.add_argument("--forest-trees", type=int, default=8)
    parser.add_argument("--links", action="store_true", help="only the tables of shaped links")
    parser.add_argument("--linked-workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--linked-queries", type=int, default=300)
    parser.add_argument("--megabits", type=int, default=200, help="of a shaped link, per second")
    parser.add_argument("--latency-ms", type=float, default=0.5, help="of a shaped link")
    parser.add_argument("--burst-kb", type=int, nargs="+", default=[128, 32], help="of the shaper")
    parser.add_argument("--shards", action="store_true", help="only the table of bytes per value")
    parser.add_argument("--shard-workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--shard-queries", type=int, default=8_000)
    parser.add_argument("--shard-trees", type=int, default=5)
    parser.add_argument("--linked", help="(a worker on a shaped link: what it is to do, as JSON)")
    parser.add_argument("--child", help="(a worker process: what it is to do, as JSON)")
    parser.add_argument("--peer", help="(one fit on Dask: what it is to do, as JSON)")
    args = parser.parse_args()
    if args.child:
        work(json.loads(args.child))
        return
    if args.linked:
        _links.work(json.loads(args.linked))
        return
    if args.peer:
        fit_on_dask(json.loads(args.peer))
        return
    if args.quick:
        args.queries, args.trees, args.repeats = 1000, 10, 1
        args.peer_queries, args.peer_trees = 500, 5
    if args.links:
        report = Report("distributed-links", args, libraries=[])
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            make_data(Path(folder), args.linked_queries)
            tree = _links.links_table(report, folder, args)
        _links.machines_table(report, tree, 10_000, 0.25)
        report.write()
        return
    if args.shards:
        report = Report("distributed-shards", args, libraries=[])
        args.shard_queries = 800 if args.quick else args.shard_queries
        _shards.shards_table(report, args)
        report.write()
        return
    if args.forests:
        report = Report("distributed-forests", args, libraries=[])
        args.forest_queries = 600 if args.quick else args.forest_queries
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            make_data(Path(folder), args.forest_queries)
            forests_table(report, folder, args)
        report.write()
        return
    if args.peers:
        libraries = ["lightgbm", "xgboost-cpu", "dask", "distributed"]
        report = Report("distributed-peers", args, libraries=libraries)
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            make_data(Path(folder), args.peer_queries)
            peers_table(report, folder, args)
        report.write()
        return
    report = Report("distributed", args, libraries=[])
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        make_data(Path(folder), args.queries)
        workers_table(report, folder, args)
        rows_table(report, folder, args)
    report.write()


def make_data(folder: Path, n_queries: int) -> None:
    from rankgrove.datasets import make_ranking

    data = make_ranking(n_queries, preset="mslr", seed=1)
    np.save(folder / "X.npy", data.X)
    np.save(folder / "y.npy", data.y)
    np.save(folder / "sizes.npy", data.group_sizes)


def workers_table(report: Report, folder: str, args: Any) -> None:
    """Print what workers and threads cost; the model files must have the same bytes."""
    found = defaultdict(list)
    for shape in [(1, 2), (2, 1)] * args.repeats + [(1, 1), (4, 1)]:
        found[shape].append(fit_in_processes(folder, *shape, args.queries, args.trees))
    seconds = {
        shape: statistics.median(run["per_tree"] for run in runs) for shape, runs in found.items()
    }
    rows = []
    for (n_workers, n_threads), runs in found.items():
        per_tree, run = seconds[n_workers, n_threads], runs[-1]
        rows.append(
            [
                f"{n_workers} x {n_threads} thread{'s' * (n_threads > 1)}",
                statistics.median(run["seconds"] for run in runs),
                per_tree,
                f"{100 * (per_tree / seconds[1, 2] - 1):+.1f} %",
                run["messages"],
                run["sent_mb"],
                f"{100 * statistics.median(run['waiting'] for run in runs):.0f} %",
            ]
        )
    report.table(
        [
            *("workers", "seconds of a fit", "per tree", "against 1 x 2"),
            *("messages/tree", "MB sent/tree, most", "waiting"),
        ],
        rows,
        f"LambdaMART, {args.trees} trees, {run['rows']} rows x 136",
    )
    models = {run["model"] for runs in found.values() for run in runs}
    report.note(
        f"Different model files: {len(models)} (1: the same bits for all). Most: the worker that "
        "sends the most. Waiting: the share of the time of a tree that worker 0 spends on "
        "messages."
    )


def forests_table(report: Report, folder: str, args: Any) -> None:
    """Print what a forest on shards costs beside one on one machine, and beside boosting."""
    rows, models = [], {}
    for ranker in ("rf-point", "lambdamart"):
        for shape in ((1, 2), (2, 1), (4, 1)):
            run = fit_in_processes(folder, *shape, args.forest_queries, args.forest_trees, ranker)
            models.setdefault(ranker, set()).add(run["model"])
            n_workers, n_threads = shape
            rows.append(
                [
                    f"{ranker}, {n_workers} x {n_threads} thread{'s' * (n_threads > 1)}",
                    run["seconds"],
                    run["messages"],
                    run["sent_mb"],
                    1e6 * run["sent_mb"] * n_workers / (136 * run["rows"]),
                ]
            )
    report.table(
        ["ranker, workers", "seconds of a fit", "messages/tree", "MB sent/tree, most",
         "bytes sent/tree per value of a shard"],
        rows,
        f"{args.forest_trees} trees, {run['rows']} rows x 136",
    )  # fmt: skip
    different = ", ".join(f"{name}: {len(found)}" for name, found in models.items())
    report.note(
        f"Different model files: {different} (1: the same bits for all). RF-point with the default "
        "settings (at least five documents in a leaf): each document of a sample is sent once per "
        "tree, with all its codes. Boosting (31 leaves) sends only sums. 1 x 2 threads is one "
        "machine."
    )


def rows_table(report: Report, folder: str, args: Any) -> None:
    """Print what is sent per tree as the rows grow."""
    rows = []
    for share in (16, 8, 4, 2):
        found = fit_in_processes(folder, 2, 1, args.queries // share, args.trees)
        rows.append([found["rows"], found["per_tree"], found["messages"], found["sent_mb"]])
    columns = ["rows", "seconds/tree", "messages/tree", "MB sent/tree, most"]
    report.table(columns, rows, "Two workers: what is sent does not grow with the rows")


def peers_table(report: Report, folder: str, args: Any) -> None:
    """Print seconds of a whole fit on a Dask cluster of processes, each of one thread."""
    rows = []
    for n_workers in (1, 2, 4):
        ours = None
        for name in CONTESTANTS:
            job = {"name": name, "folder": folder, "workers": n_workers, "trees": args.peer_trees}
            outcome = run_on_dask(job, args.minutes)
            is_time = isinstance(outcome, float)
            ours = outcome if name == "rankgrove" and is_time else ours
            rows.append(
                [f"{name}, {n_workers}", outcome, ratio(outcome, ours) if is_time and ours else "-"]
            )
    n_rows = int(np.load(f"{folder}/sizes.npy").sum())
    caption = f"Whole fits on Dask with binning, {args.peer_trees} trees, {n_rows} rows"
    report.table(["library, workers", "seconds", "times rankgrove's"], rows, caption)


def run_on_dask(job: dict[str, Any], minutes: float) -> float | str:
    """Return the seconds of a fit, or what became of it."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [sys.executable, __file__, "--peer", json.dumps(job)],
            stdout=output,
            stderr=sys.stderr,
            start_new_session=True,
        )
        try:
            process.wait(60 * minutes)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its workers, too
            process.wait()
            return f"not finished in {minutes:g} minutes"
        output.seek(0)
        lines = output.read().splitlines()
    return "failed" if process.returncode else float(lines[-1])


def fit_on_dask(job: dict[str, Any]) -> None:
    """Fit in this process, which starts a cluster and prints the seconds."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=job["workers"],
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        data = dask_data(job["folder"], job["workers"])
        seconds = timed(CONTESTANTS[job["name"]], client, data, job["trees"])
        print(f"\n{seconds}", flush=True)


def fit_in_processes(
    folder: str,
    n_workers: int,
    n_threads: int,
    n_queries: int,
    n_trees: int,
    ranker: str = "lambdamart",
) -> dict[str, Any]:
    """Let worker processes fit together; return what worker 0 measured, and the most sent."""
    job = {
        "ranker": ranker,
        "folder": folder,
        "size": n_workers,
        "threads": n_threads,
        "queries": n_queries,
        "trees": n_trees,
        "token": secrets.token_hex(32),
        "port": free_port(),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--child", json.dumps(job | {"rank": rank})],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(n_workers)
    ]
    answers = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError("a worker process failed")
    told: list[dict[str, Any]] = [json.loads(answer.splitlines()[-1]) for answer in answers]
    result = told[0] | {"sent_mb": max(one["sent_mb"] for one in told)}
    print(f"{n_workers} x {n_threads}:", result, file=sys.stderr)
    return result


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def work(job: dict[str, Any]) -> None:
    """Fit a shard in this process."""
    import hashlib

    import rankgrove
    from rankgrove.distributed import Hub, Shard, fit_shard, join
    from rankgrove.formats.container import to_bytes
    from rankgrove.workers.run_exchange import RunExchange

    rank, size, token = job["rank"], job["size"], bytes.fromhex(job["token"])
    sizes = np.load(f"{job['folder']}/sizes.npy")[: job["queries"]]
    ends = np.r_[0, np.cumsum(sizes)]
    first, last = (len(sizes) * r // size for r in (rank, rank + 1))
    mine = slice(int(ends[first]), int(ends[last]))
    X = np.load(f"{job['folder']}/X.npy", mmap_mode="r")[mine].copy()
    y = np.load(f"{job['folder']}/y.npy")[mine]
    qid = np.repeat(np.arange(first, last), sizes[first:last])
    hub = Hub("127.0.0.1", job["port"]) if rank == 0 else None
    address = f"127.0.0.1:{job['port']}"
    joined = hub.accept(size, token) if hub else join(address, rank, size, token)
    moments: list[float] = []
    with joined as communicator:
        noted = [communicator.traffic]  # the last one: when bins were found
        exchange = RunExchange.run

        def noting(self: Any, make: Any) -> Any:
            found = exchange(self, make)
            noted.append(communicator.traffic)
            return found

        RunExchange.run = noting  # type: ignore[method-assign]
        communicator.barrier()
        start = time.perf_counter()
        common = {"n_estimators": job["trees"], "random_state": 1, "n_jobs": job["threads"]}
        if job["ranker"] == "lambdamart":
            common |= {
                "tree": "leafwise", "max_leaf_nodes": LEAVES, "learning_rate": LEARNING_RATE,
            }  # fmt: skip
        ranker = fit_shard(
            rankgrove.make_ranker(job["ranker"], **common),
            Shard(X, y, qid),
            communicator,
            on_step=lambda *_: moments.append(time.perf_counter()) or False,
        )
        seconds = time.perf_counter() - start
        before, after, n_trees = noted[-1], communicator.traffic, job["trees"]
    per_tree = (moments[-1] - moments[0]) / max(len(moments) - 1, 1) if moments else 0.0
    print(
        json.dumps(
            {
                "rows": int(ends[-1]),
                "seconds": seconds,
                "per_tree": per_tree,
                "messages": (after.messages - before.messages) / n_trees,
                "sent_mb": (after.bytes_sent - before.bytes_sent) / n_trees / 1e6,
                "waiting": (after.seconds_waiting - before.seconds_waiting)
                / max(n_trees * per_tree, 1e-9),
                "model": hashlib.sha256(to_bytes(ranker)).hexdigest(),
            }
        )
    )


def dask_data(folder: str, n_workers: int) -> dict[str, Any]:
    """Make dask arrays whose blocks, one per worker, are whole queries."""
    import dask.array as da

    sizes = np.load(f"{folder}/sizes.npy")
    ends = np.r_[0, np.cumsum(sizes)]
    cuts = [int(ends[len(sizes) * r // n_workers]) for r in range(n_workers + 1)]
    chunks = tuple(np.diff(cuts).tolist())
    groups = tuple(np.diff([len(sizes) * r // n_workers for r in range(n_workers + 1)]).tolist())
    X = np.load(f"{folder}/X.npy", mmap_mode="r")
    y, qid = np.load(f"{folder}/y.npy"), np.repeat(np.arange(len(sizes)), sizes)
    return {
        "X": da.from_array(X, chunks=(chunks, X.shape[1])),
        "y": da.from_array(y, chunks=(chunks,)),
        "qid": da.from_array(qid, chunks=(chunks,)),
        "group": da.from_array(sizes, chunks=(groups,)),
    }


def timed(fit: Any, client: Any, data: dict[str, Any], n_trees: int) -> float:
    from dask.distributed import wait

    held = dict(zip(data, client.persist(list(data.values())), strict=True))
    wait(list(held.values()))
    for module in ("rankgrove.distributed", "lightgbm.dask", "xgboost.dask"):
        client.run(importlib.import_module, module)  # what every worker does once is not measured
    start = time.perf_counter()
    fit(client, held, n_trees)
    return time.perf_counter() - start


def fit_rankgrove(client: Any, data: dict[str, Any], n_trees: int) -> None:
    import rankgrove

    ranker = rankgrove.LambdaMART(
        n_estimators=n_trees,
        tree="leafwise",
        max_leaf_nodes=LEAVES,
        learning_rate=LEARNING_RATE,
        random_state=1,
    )
    rankgrove.distributed.fit(ranker, data["X"], data["y"], qid=data["qid"], on=client)


def fit_lightgbm(client: Any, data: dict[str, Any], n_trees: int) -> None:
    from lightgbm.dask import DaskLGBMRanker

    ranker = DaskLGBMRanker(
        client=client,
        n_estimators=n_trees,
        num_leaves=LEAVES,
        learning_rate=LEARNING_RATE,
        verbosity=-1,
    )
    ranker.fit(data["X"], data["y"].astype(int), group=data["group"])


def fit_xgboost(client: Any, data: dict[str, Any], n_trees: int) -> None:
    from xgboost import dask as xgboost

    matrix = xgboost.DaskQuantileDMatrix(client, data["X"], data["y"], qid=data["qid"])
    xgboost.train(
        client,
        {
            "objective": "rank:ndcg",
            "tree_method": "hist",
            "max_leaves": LEAVES,
            "max_depth": 0,
            "grow_policy": "lossguide",
            "learning_rate": LEARNING_RATE,
        },
        matrix,
        num_boost_round=n_trees,
    )


CONTESTANTS = {
    "rankgrove": fit_rankgrove,
    "lightgbm.dask": fit_lightgbm,
    "xgboost.dask": fit_xgboost,
}


if __name__ == "__main__":
    main()
