"""Memory and seconds per tree on data that need not fit, beside LightGBM and XGBoost.

LambdaMART on 10 x the shape of WEB10K (7.2 M x 136: 3.9 GB as float32), from files: rankgrove's
``scan`` of Parquet (with a cold and a warm cache), its fits of float32 and float64 arrays and of an
Arrow table, a forest, LightGBM with ``two_round=True`` on text, XGBoost with
``ExtMemQuantileDMatrix`` on batches. Each runs in a process of its own. Memory is the peak of what
is resident (mapped files included) above interpreter, libraries, and the array or table that was
given; also in bytes per value of the matrix. With ``--limit``, a control group holds each process
to so many GB, its part of the page cache included (Linux, as root)::

    python benchmarks/bench_memory.py --quick
    python benchmarks/bench_memory.py --data /var/tmp/web100k --data-only
    python benchmarks/bench_memory.py --data /var/tmp/web100k rankgrove-stream lightgbm
    python benchmarks/bench_memory.py --data /var/tmp/web100k rankgrove-warm --limit 1.0 --trees 5

Data are generated once, in pieces of 6000 queries, and kept where ``--data`` says; so are the
outcomes of contestants, and the table shows those of all runs on the same data.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from _report import Report, benchmark_arguments, ratio

QUERIES = 6000  # of a piece
FEATURES = 136
COMMON = {"leaves": 31, "learning_rate": 0.1, "min_data": 20}
PEERS = ("lightgbm", "xgboost")
GROUPS = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup")


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("contestants", nargs="*", metavar="NAME", help=", ".join(CONTESTANTS))
    parser.add_argument("--scale", type=float, default=10.0, help="times the rows of WEB10K")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--peer-trees", type=int, default=5, help="of LightGBM and XGBoost")
    parser.add_argument("--limit", type=float, metavar="GB", help="hard limit for each process")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each process")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where data are kept")
    parser.add_argument("--data-only", action="store_true", help="make the data and end")
    parser.add_argument("--child", metavar="NAME", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(CONTESTANTS[args.child](args)))
        return
    if args.quick:
        args.scale, args.trees = args.scale / 20, min(args.trees, 20)
    unknown = set(args.contestants) - set(CONTESTANTS)
    if unknown:
        parser.error(f"unknown contestants: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        args.data = args.data or Path(folder)
        make_data(args)
        if not args.data_only:
            run_all(args)


def run_all(args: argparse.Namespace) -> None:
    """Run every contestant in a process of its own and print the table."""
    report = Report("memory", args, libraries=["lightgbm", "xgboost-cpu", "pyarrow"])
    kept = args.data / f"outcomes-{args.scale:g}.json"
    outcomes: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
    for name in args.contestants or CONTESTANTS:
        if name == "rankgrove-stream":
            shutil.rmtree(args.data / "cache", ignore_errors=True)
        trees = args.peer_trees if name in PEERS else args.trees
        found = run_child(name, trees, args)
        print(name, found, file=sys.stderr)
        limit = "none" if args.limit is None else f"{args.limit:g} GB"
        row = {"contestant": name, "trees": trees, "limit": limit, **found}
        outcomes[f"{name}, {limit}"] = row
        kept.write_text(json.dumps(outcomes, indent=1))
    ours = outcomes.get("rankgrove-warm, none") or outcomes.get("rankgrove-stream, none") or {}
    report.table(
        [
            *("contestant", "limit", "outcome", "trees", "peak MB", "B / value"),
            *("s to first tree", "s per tree", "memory is", "time is"),
        ],
        [table_row(row, ours) for row in outcomes.values()],
        caption=f"LambdaMART with {COMMON['leaves']} leaves, {args.scale:g} x the rows of WEB10K",
    )
    report.note(
        "MB are 2^20 bytes; those of arrays and tables are in addition to the caller's data. The "
        "last columns are ratios to rankgrove with a warm cache and without a limit."
    )
    report.write()


def table_row(row: dict[str, Any], ours: dict[str, Any]) -> list[Any]:
    begin = [row["contestant"], row["limit"], row["outcome"], row["trees"]]
    if "memory" not in row:
        return [*begin, "-", "-", "-", "-", "-", "-"]
    ratios = [ratio(row[name], ours[name]) if ours else "-" for name in ("memory", "tree")]
    per_value = row["memory"] * 2**20 / row["rows"] / FEATURES
    return [*begin, row["memory"], per_value, row["prepare"], row["tree"], *ratios]


def run_child(name: str, trees: int, args: argparse.Namespace) -> dict[str, Any]:
    """Run a contestant; an outcome is there in any case, what was measured only if it finished."""
    command = [sys.executable, __file__, "--child", name, "--data", str(args.data)]
    command += ["--trees", str(trees), "--threads", str(args.threads)]
    with limited(args.limit) as join:
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                preexec_fn=join,
                timeout=60 * args.minutes,
            )
        except subprocess.TimeoutExpired:
            return {"outcome": f"not finished in {args.minutes:g} minutes"}
    if done.returncode == 0:
        return {"outcome": "finished", **json.loads(done.stdout.splitlines()[-1])}
    print(done.stderr, file=sys.stderr)
    if done.returncode == -signal.SIGKILL and args.limit is not None:
        return {"outcome": "killed at the limit"}
    last = done.stderr.strip().splitlines()[-1:] or [f"ended by signal {-done.returncode}"]
    return {"outcome": f"failed: {last[0][:100]}"}


class limited:  # noqa: N801 - reads as a phrase
    """A control group with a limit; ``join`` is called in the new process."""

    def __init__(self, gigabytes: float | None) -> None:
        self.gigabytes = gigabytes
        self.folder: Path | None = None

    def __enter__(self) -> Callable[[], None] | None:
        if self.gigabytes is None:
            return None
        root = next(Path(group) for group in GROUPS if os.access(group, os.W_OK))
        self.folder = folder = root / f"rankgrove-{os.getpid()}-{time.monotonic_ns()}"
        folder.mkdir()
        old = (folder / "memory.limit_in_bytes").exists()
        limit = "memory.limit_in_bytes" if old else "memory.max"
        (folder / limit).write_text(str(int(self.gigabytes * 1e9)))
        return lambda: (folder / "cgroup.procs").write_text(str(os.getpid())) and None

    def __exit__(self, *_: object) -> None:
        for _attempt in range(50):  # the group of a process that was killed is busy for a moment
            with contextlib.suppress(OSError):
                if self.folder is not None:
                    self.folder.rmdir()
                return
            time.sleep(0.1)


def make_data(args: argparse.Namespace) -> None:
    """Write Parquet pieces, and the text with sizes beside it for LightGBM, unless they exist."""
    import rankgrove as rg
    from rankgrove.datasets import make_ranking

    parts = args.data / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    n_queries = round(QUERIES * args.scale)
    whole = args.data / "train.txt"
    wants_text = not whole.exists() and (not args.contestants or "lightgbm" in args.contestants)
    for number, first in enumerate(range(0, n_queries, QUERIES)):
        path = parts / f"part-{number:03}.parquet"
        text = args.data / f"text-{number:03}.txt"
        if path.exists() and (text.exists() or not wants_text):
            continue
        size = min(QUERIES, n_queries - first)
        data = make_ranking(size, preset="mslr", seed=number)
        data = rg.Dataset(data.X, data.y, data.qid + first, feature_names=data.feature_names)
        rg.write_parquet(data, path)
        if wants_text:
            rg.write_letor(data, text)
    if wants_text:
        join_text(sorted(args.data.glob("text-*.txt")), whole)


def join_text(pieces: list[Path], whole: Path) -> None:
    """Make one text without query ids of the pieces, and the sizes of its queries beside it."""
    sizes: list[int] = []
    last = None
    part = whole.with_name("part-of-train.txt")
    with part.open("wb") as out:
        for piece in pieces:
            with piece.open("rb") as lines:
                for line in lines:
                    label, query, rest = line.split(b" ", 2)
                    sizes.append(0) if query != last else None
                    sizes[-1] += 1
                    last = query
                    out.write(label + b" " + rest)
            piece.unlink()
    part.rename(whole)
    whole.with_name(whole.name + ".query").write_text("\n".join(map(str, sizes)) + "\n")


class TreeTimer:
    """Peak of resident memory above what was there, and the times of trees."""

    def __init__(self) -> None:
        from rankgrove._memory import release_memory

        release_memory()  # what loading has freed is not held by the caller
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of loading
        self.before = resident("VmRSS")
        self.started = time.perf_counter()
        self.trees: list[float] = []

    def tree(self, *_: Any) -> None:
        """Note that a tree is finished."""
        self.trees.append(time.perf_counter())

    def result(self, n_rows: int) -> dict[str, float]:
        """Return megabytes, seconds before the first tree was there, and seconds per tree."""
        return {
            "rows": n_rows,
            "memory": (resident("VmHWM") - self.before) / 1024,
            "prepare": self.trees[0] - self.started,
            "tree": float(np.median(np.diff(self.trees))),
        }


def resident(kind: str) -> int:
    """Return kilobytes of this process: VmRSS now, VmHWM at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(kind):
            return int(line.split()[1])
    raise RuntimeError(f"no {kind} here")


def lambdamart(args: argparse.Namespace) -> Any:
    import rankgrove as rg
    import rankgrove.data.scanning.scan

    return rg.LambdaMART(
        n_estimators=args.trees,
        tree="leafwise",
        max_leaf_nodes=COMMON["leaves"],
        min_samples_leaf=COMMON["min_data"],
        learning_rate=COMMON["learning_rate"],
        n_jobs=args.threads,
        random_state=0,
    )


def run_stream(args: argparse.Namespace) -> dict[str, float]:
    import pyarrow.parquet  # noqa: F401 - a library, not what is measured

    import rankgrove as rg

    ranker = lambdamart(args)
    ranker.fit(np.zeros((4, 2)), [0, 1, 0, 1], group_sizes=[2, 2])  # brings the libraries in
    scan = rg.scan(args.data / "parts", cache=args.data / "cache", n_jobs=args.threads)
    timer = TreeTimer()
    ranker.fit(scan, callbacks=[timer.tree])
    return timer.result(scan.n_rows)


def run_arrays(args: argparse.Namespace) -> dict[str, float]:
    import rankgrove as rg

    ranker = lambdamart(args)
    ranker.fit(np.zeros((4, 2)), [0, 1, 0, 1], group_sizes=[2, 2])
    data = rg.load(args.data / "parts", n_jobs=args.threads)
    timer = TreeTimer()
    ranker.fit(data.X, data.y, group_sizes=data.group_sizes, callbacks=[timer.tree])
    return timer.result(data.n_rows)


def run_float64(args: argparse.Namespace) -> dict[str, float]:
    import rankgrove as rg

    ranker = lambdamart(args)
    ranker.fit(np.zeros((4, 2)), [0, 1, 0, 1], group_sizes=[2, 2])
    data = rg.load(args.data / "parts", n_jobs=args.threads)
    X, y, sizes, n_rows = data.X.astype(np.float64), data.y, data.group_sizes, data.n_rows
    del data
    timer = TreeTimer()
    ranker.fit(X, y, group_sizes=sizes, callbacks=[timer.tree])
    return timer.result(n_rows)


def run_table(args: argparse.Namespace) -> dict[str, float]:
    """Fit an Arrow table, whose columns are in as many chunks as the files have."""
    import pyarrow.parquet as pq

    ranker = lambdamart(args)
    ranker.fit(np.zeros((4, 2)), [0, 1, 0, 1], group_sizes=[2, 2])
    table = pq.read_table(args.data / "parts")
    y, qid = table.column("label").to_numpy(), table.column("qid").to_numpy()
    table = table.drop_columns(["label", "qid"])
    timer = TreeTimer()
    ranker.fit(table, y, qid=qid, callbacks=[timer.tree])
    return timer.result(len(y))


def run_forest(args: argparse.Namespace) -> dict[str, float]:
    """Grow a forest; a tree is timed by the whole of them."""
    import rankgrove as rg

    ranker = rg.RFPoint(
        n_estimators=args.trees, min_samples_leaf=1, n_jobs=args.threads, random_state=0
    )
    ranker.fit(np.zeros((4, 2)), [0, 1, 0, 1], group_sizes=[2, 2])
    data = rg.load(args.data / "parts", n_jobs=args.threads)
    timer = TreeTimer()
    ranker.fit(data.X, data.y, group_sizes=data.group_sizes)
    seconds = (time.perf_counter() - timer.started) / args.trees
    timer.trees = [timer.started + seconds * (i + 1) for i in range(args.trees)]
    return timer.result(data.n_rows)


def run_lightgbm(args: argparse.Namespace) -> dict[str, float]:
    import lightgbm as lgb

    params = {
        "objective": "lambdarank",
        "num_leaves": COMMON["leaves"],
        "learning_rate": COMMON["learning_rate"],
        "min_data_in_leaf": COMMON["min_data"],
        "num_threads": args.threads,
        "two_round": True,
        "verbose": -1,
    }
    timer = TreeTimer()
    data = lgb.Dataset(str(args.data / "train.txt"), params=params)
    lgb.train(params, data, args.trees, callbacks=[timer.tree])
    return timer.result(data.num_data())


def run_xgboost(args: argparse.Namespace) -> dict[str, float]:
    import pyarrow.parquet as pq
    import xgboost as xgb

    files = sorted((args.data / "parts").glob("*.parquet"))

    def batches() -> Iterator[dict[str, Any]]:
        for path in files:
            table = pq.read_table(path)
            names = [name for name in table.column_names if name not in ("label", "qid")]
            X = np.column_stack([table.column(name).to_numpy() for name in names])
            yield {
                "data": X.astype(np.float32, copy=False),
                "label": table.column("label").to_numpy(),
                "qid": table.column("qid").to_numpy(),
            }

    class Batches(xgb.DataIter):
        def __init__(self) -> None:
            self.batches = batches()
            super().__init__(cache_prefix=str(args.data / "xgboost"), on_host=False)

        def next(self, input_data: Callable[..., Any]) -> bool:
            batch = next(self.batches, None)
            if batch is not None:
                input_data(**batch)
            return batch is not None

        def reset(self) -> None:
            self.batches = batches()

    class Tree(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            timer.tree()
            return False

    params = {
        "objective": "rank:ndcg",
        "tree_method": "hist",
        "max_leaves": COMMON["leaves"],
        "max_depth": 0,
        "grow_policy": "lossguide",
        "eta": COMMON["learning_rate"],
        "lambdarank_pair_method": "topk",
        "nthread": args.threads,
    }
    timer = TreeTimer()
    data = xgb.ExtMemQuantileDMatrix(Batches(), max_bin=256, nthread=args.threads)
    xgb.train(params, data, args.trees, callbacks=[Tree()])
    return timer.result(data.num_row())


CONTESTANTS: dict[str, Callable[[argparse.Namespace], dict[str, float]]] = {
    "rankgrove-arrays": run_arrays,
    "rankgrove-float64": run_float64,
    "rankgrove-table": run_table,
    "rankgrove-forest": run_forest,
    "rankgrove-stream": run_stream,
    "rankgrove-warm": run_stream,
    "lightgbm": run_lightgbm,
    "xgboost": run_xgboost,
}

if __name__ == "__main__":
    main()
