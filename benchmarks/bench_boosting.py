"""Training time, binning time, peak memory and test NDCG@10 beside LightGBM, XGBoost and CatBoost.

Data are WEB10K-shaped (``make_ranking(preset="mslr")``). Every contestant trains in a process of
its own, on the same arrays. Results are kept with the machine and the version of rankgrove, so that
parts can be run apart; each machine has its tables, and ratios compare rows of one machine and
version::

    python benchmarks/bench_boosting.py                       # everything, 500 trees
    python benchmarks/bench_boosting.py --quick               # a minute, to see that it works
    python benchmarks/bench_boosting.py rankgrove-lambdamart lightgbm-auto --rows 1/8 1/4 1/2 1
    python benchmarks/bench_boosting.py --small               # 100 trees on MQ2008, also under load
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import _small_boosting
from _contestants import CONTESTANTS, GOALS, Training
from _report import RESULTS, Report, benchmark_arguments, machine, ratio, version


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("contestants", nargs="*", metavar="NAME", help=", ".join(CONTESTANTS))
    parser.add_argument("--rows", nargs="+", type=Fraction, default=[Fraction(1)], metavar="SHARE")
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--depth", type=int, default=6, help="of oblivious trees")
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--fresh", action="store_true", help="forget results of earlier runs")
    parser.add_argument("--child", nargs=2, metavar=("NAME", "DATA"), help=argparse.SUPPRESS)
    parser.add_argument("--small", action="store_true", help="LambdaMART on data like MQ2008 only")
    args = parser.parse_args()
    if args.small:
        _small_boosting.run(args)
        return
    unknown = set(args.contestants) - set(CONTESTANTS)
    if unknown:
        parser.error(f"unknown contestants: {', '.join(sorted(unknown))}")
    if args.child:
        print(json.dumps(run_child(args.child[0], Path(args.child[1]), args)))
        return
    if args.quick:
        args.rows, args.trees = [Fraction(1)], 20
    store = RESULTS / f"boosting{'.quick' if args.quick else ''}.json"
    known = store.is_file() and not args.fresh
    results: dict[str, Any] = json.loads(store.read_text()) if known else {}
    for share in args.rows:
        with tempfile.TemporaryDirectory() as folder:
            make_data(Path(folder), share, args.quick)
            for name in args.contestants or CONTESTANTS:
                setting = {
                    "contestant": name,
                    "share": str(share),
                    "trees": args.trees,
                    "threads": args.threads,
                    "machine": machine(),
                    "version": version("rankgrove"),
                }
                results[", ".join(map(str, setting.values()))] = {
                    **setting,
                    "date": time.strftime("%Y-%m-%d"),
                    **run_parent(name, folder, args),
                }
                if not args.no_write:
                    RESULTS.mkdir(exist_ok=True)
                    store.write_text(json.dumps(results, indent=1) + "\n")
    print_tables(args, list(results.values()))


def make_data(folder: Path, share: Fraction, quick: bool) -> None:
    """Write the arrays that every contestant loads; the test queries come after all others."""
    from rankgrove.datasets import make_ranking

    n_train, n_test = (400, 200) if quick else (6000, 2000)
    data = make_ranking(n_train + n_test, preset="mslr", seed=0)
    sizes = np.asarray(data.group_sizes)
    ends = np.r_[0, np.cumsum(sizes)]
    parts = {"train": (0, int(n_train * share)), "test": (n_train, n_train + n_test)}
    for name, (first, last) in parts.items():
        rows = slice(ends[first], ends[last])
        np.save(folder / f"{name}_X.npy", data.X[rows])
        np.save(folder / f"{name}_y.npy", data.y[rows])
        np.save(folder / f"{name}_sizes.npy", sizes[first:last])


def run_parent(name: str, folder: str, args: argparse.Namespace) -> dict[str, Any]:
    """Run one contestant in a fresh process."""
    command = [sys.executable, __file__, "--child", name, folder]
    for option in ("trees", "leaves", "depth", "learning_rate", "threads"):
        command += [f"--{option.replace('_', '-')}", str(getattr(args, option))]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{name} failed:\n{done.stderr[-2000:]}", file=sys.stderr)
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr else "no output"}
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    print(
        f"{name}: binning {result['binning']:.2f} s, training {result['training']:.2f} s, "
        f"NDCG@10 {result['ndcg']:.4f} ({time.perf_counter() - start:.0f} s in all)",
        file=sys.stderr,
    )
    return result


def run_child(name: str, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Train one contestant and measure it; memory counts from the loaded arrays on."""
    data = Training(
        X=np.load(folder / "train_X.npy"),
        y=np.load(folder / "train_y.npy"),
        group_sizes=np.load(folder / "train_sizes.npy"),
        n_trees=args.trees,
        n_leaves=args.leaves,
        depth=args.depth,
        learning_rate=args.learning_rate,
        threads=args.threads,
    )
    for module in ("rankgrove.rankers.base.boosted", "sklearn.utils", name.split("-")[0]):
        importlib.import_module(module)  # code is no part of the memory that training takes
    before = memory_now()
    start = time.process_time()
    trained = CONTESTANTS[name](data)
    cpu = time.process_time() - start
    peak = memory_peak() - before
    from rankgrove.metrics.parsing import metric

    y, sizes = np.load(folder / "test_y.npy"), np.load(folder / "test_sizes.npy")
    scores = np.asarray(trained.predict(np.load(folder / "test_X.npy")), np.float64)
    ndcg = metric("ndcg@10")(y, scores, group_sizes=sizes)
    return {
        "rows": len(data.y),
        "binning": trained.binning_seconds,
        "training": trained.training_seconds,
        "cpu": cpu,
        "peak_mb": peak / 2**20,
        "ndcg": ndcg,
    }


def memory_now() -> int:
    """Resident bytes; the high-water mark starts here."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def memory_peak() -> int:
    """Highest resident bytes since ``memory_now``."""
    return _status("VmHWM")


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def print_tables(args: argparse.Namespace, results: list[dict[str, Any]]) -> None:
    report = Report("boosting", args, libraries=["lightgbm", "xgboost-cpu", "catboost"])
    results.sort(key=lambda run: (Fraction(run["share"]), run["trees"], run["threads"]))
    for place, runs in by_machine(results, machine(), version("rankgrove")):
        print_machine(report, place, runs)
    report.write()


def by_machine(
    results: list[dict[str, Any]], own_machine: str, own_version: str
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Part results by machine and version of rankgrove, whose times do not compare.

    Those of this machine and version come first, then the others, the newest first.
    """
    parts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in results:
        parts.setdefault((run["machine"], run["version"]), []).append(run)
    newest = {key: max(run["date"] for run in runs) for key, runs in parts.items()}
    own = (own_machine, own_version)
    keys = sorted(parts, key=lambda key: (key == own, newest[key]), reverse=True)
    return [(f"{name}; rankgrove {number}", parts[name, number]) for name, number in keys]


def print_machine(report: Report, place: str, results: list[dict[str, Any]]) -> None:
    """Print the tables of one machine."""
    runs = [run for run in results if "error" not in run]
    report.heading(place)
    report.table(
        [
            *("contestant", "rows", "trees", "threads", "binning s", "training s", "CPU s"),
            *("ms/tree", "peak MB", "NDCG@10", "measured"),
        ],
        [
            [
                run["contestant"],
                run["rows"],
                run["trees"],
                run["threads"],
                f"{run['binning']:.2f}",
                f"{run['training']:.2f}",
                f"{run['cpu']:.2f}" if "cpu" in run else "",
                f"{1000 * run['training'] / run['trees']:.1f}",
                f"{run['peak_mb']:.0f}",
                f"{run['ndcg']:.4f}",
                run["date"],
            ]
            for run in runs
        ],
    )
    report.note(
        "Training beside the peers; memory is what is above the input arrays, CPU seconds are "
        "those of binning and training on all threads (beside other work only they compare)."
    )
    ratios = list(ratio_rows(runs))
    if ratios:
        report.note("Peer / rankgrove (training per tree), and the difference of NDCG@10:")
        report.table(
            [
                *("rankgrove", "fastest peer", "rows", "trees", "threads", "training", "goal"),
                *("CPU", "binning", "memory", "NDCG@10"),
            ],
            ratios,
        )
    scaling = list(scaling_rows(runs))
    if scaling:
        report.note("Growth with rows, two threads (constant: linear time):")
        report.table(["contestant", "rows", "trees", "training us per row and tree"], scaling)
    threads = list(thread_rows(runs))
    if threads:
        report.note("Two threads beside one:")
        report.table(["contestant", "rows", "trees", "1 thread s", "2 threads s", "is"], threads)
    for run in results:
        if "error" in run:
            report.note(f"{run['contestant']} failed: {run['error']}")


def thread_rows(runs: list[dict[str, Any]]) -> Iterator[list[Any]]:
    """Training with one thread beside two, where both were measured."""
    found = {(r["contestant"], r["share"], r["trees"], r["threads"]): r for r in runs}
    for (name, share, trees, threads), one in found.items():
        two = found.get((name, share, trees, 2))
        if threads == 1 and two is not None:
            times = one["training"], two["training"]
            yield [name, one["rows"], trees, *(f"{t:.2f}" for t in times), ratio(*times)]


def scaling_rows(runs: list[dict[str, Any]]) -> Iterator[list[Any]]:
    for name in dict.fromkeys(run["contestant"] for run in runs):
        mine = [run for run in runs if run["contestant"] == name and run["threads"] == 2]
        if len({run["share"] for run in mine}) > 1:
            for run in mine:
                per_row = 1e6 * run["training"] / run["trees"] / run["rows"]
                yield [name, run["rows"], run["trees"], per_row]


def ratio_rows(runs: list[dict[str, Any]]) -> Iterator[list[Any]]:
    for size in dict.fromkeys((run["share"], run["trees"], run["threads"]) for run in runs):
        same_size = {
            r["contestant"]: r for r in runs if (r["share"], r["trees"], r["threads"]) == size
        }
        for ours, peers, goal in GOALS:
            present = [same_size[peer] for peer in peers if peer in same_size]
            if ours not in same_size or not present:
                continue
            mine = same_size[ours]
            best = min(present, key=lambda run: run["training"] / run["trees"])
            yield [
                ours,
                best["contestant"],
                mine["rows"],
                mine["trees"],
                mine["threads"],
                ratio(best["training"] / best["trees"], mine["training"] / mine["trees"]),
                f"{goal:g} x",
                ratio(best["cpu"], mine["cpu"]) if "cpu" in mine and "cpu" in best else "",
                ratio(best["binning"], mine["binning"]),
                ratio(best["peak_mb"], mine["peak_mb"]),
                f"{mine['ndcg'] - best['ndcg']:+.4f}",
            ]


if __name__ == "__main__":
    main()
