"""Where a step of boosting spends its time with one thread and with two, and how its cost grows.

The first table has milliseconds per tree by phase, with one thread, with two, and with one thread
in each of two processes at once: what two threads lose against two processes is lost by sharing
one tree, not by the machine. Further tables change one size of the work at a time and print the
slope beside the theory: the exponent p of time ~ size^p between the first and the last size. Data
are WEB10K-shaped (136 features); times are medians over the steps, without reading and binning.
Each part takes less than two minutes::

    python benchmarks/bench_scaling.py                 # everything
    python benchmarks/bench_scaling.py phases          # or rows, features, leaves, trees, documents
"""

from __future__ import annotations

import json
import math
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from _report import RESULTS, Report, benchmark_arguments, run_apart

FIT = """
folder, name, tree, n_rows, n_features, leaves, n_trees, documents, threads = arguments
import numpy as np, time
from rankgrove.boosting import loop
from rankgrove.rankers.base.registry import make_ranker
clock = {}
def timed(owner, name, phase):
    function = getattr(owner, name)
    def call(*args, **kwargs):
        start = time.perf_counter()
        result = function(*args, **kwargs)
        clock.setdefault(phase, []).append(1000 * (time.perf_counter() - start))
        return result
    setattr(owner, name, call)
timed(loop.Boosting, "_compute_gradients", "gradients")
timed(loop.TreeGrower, "grow", "tree")
timed(loop, "add_leaf_values", "scores")
timed(loop.Boosting, "step", "step")
X = np.load(folder + "/X.npy", mmap_mode="r")[:n_rows, :n_features]
X, y = np.ascontiguousarray(X), np.load(folder + "/y.npy")[:n_rows]
size = {"max_depth": 6} if tree == "oblivious" else {"max_leaf_nodes": leaves}
ranker = make_ranker(name, n_estimators=n_trees, tree=tree, random_state=0, n_jobs=threads, **size)
ranker.fit(X, y, qid=np.arange(len(y)) // documents)
result.update({phase: float(np.median(times)) for phase, times in clock.items()})
result["python"] = result["step"] - sum(result[phase] for phase in ("gradients", "tree", "scores"))
"""

USUAL = {"n_rows": 150_000, "n_features": 136, "leaves": 31, "n_trees": 40, "documents": 120}

# What changes, its sizes, and the exponent that theory expects of the time of a whole fit.
GROWTH: dict[str, tuple[str, tuple[int, ...], str]] = {
    "rows": ("n_rows", (18_750, 37_500, 75_000, 150_000, 300_000), "1: every row is added up"),
    "features": ("n_features", (17, 34, 68, 136), "below 1: gradients cost the same"),
    "leaves": ("leaves", (4, 8, 16, 31, 64, 128), "below 1: a node that is split has fewer rows"),
    "trees": ("n_trees", (10, 20, 40, 80), "at most 1: later trees part fewer rows"),
    "documents": (
        "documents",
        (10, 100, 1_000, 10_000, 100_000),
        "0: pairs per document end at the truncation; sorting has a logarithm. A query is the work "
        "of one thread: 150,000 rows are two queries at the end, of 100,000 and 50,000 documents, "
        "whose gradients two threads can compute 1.5 times as fast as one",
    ),
}
PHASES = ("gradients", "tree", "scores", "python", "step")


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"phases, {', '.join(GROWTH)}")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - {"phases", *GROWTH}
    if unknown:
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    store = RESULTS / f"scaling{'.quick' if arguments.quick else ''}.json"
    found: dict[str, Any] = json.loads(store.read_text()) if store.is_file() else {}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        make_data(Path(folder), 30_000 if arguments.quick else 300_000)
        for part in arguments.parts or ("phases", *GROWTH):
            found[part] = (
                measure_phases(folder, arguments.quick)
                if part == "phases"
                else measure_growth(part, folder, arguments.quick)
            )
            if not arguments.no_write:
                store.write_text(json.dumps(found, indent=1) + "\n")
    print_tables(arguments, found)


def make_data(folder: Path, n_rows: int) -> None:
    from rankgrove.datasets import make_ranking

    data = make_ranking(n_rows // 100, preset="mslr", seed=0)
    if len(data.y) < n_rows:
        raise SystemExit(f"{n_rows // 100} queries have only {len(data.y)} documents")
    np.save(folder / "X.npy", data.X[:n_rows])
    np.save(folder / "y.npy", data.y[:n_rows])


def fit(
    folder: str,
    threads: int,
    quick: bool,
    name: str = "lambdamart",
    tree: str = "leafwise",
    **size: int,
) -> dict[str, float]:
    """Return the milliseconds per tree of each phase."""
    sizes = USUAL | size
    if quick:
        sizes |= {"n_rows": max(1000, sizes["n_rows"] // 10), "n_trees": 5}
    return run_apart(FIT, folder, name, tree, *sizes.values(), threads)


def measure_phases(folder: str, quick: bool) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    for name, tree in (
        ("lambdamart", "leafwise"),
        ("lambdamart", "oblivious"),
        ("mart", "leafwise"),
    ):
        for threads in (1, 2):
            times = fit(folder, threads, quick, name, tree)
            runs.append({"ranker": f"{name}, {tree}", "threads": f"{threads}", **times})
        with ThreadPoolExecutor(2) as pool:
            both = list(pool.map(fit, *zip(*[(folder, 1, quick, name, tree)] * 2, strict=True)))
        means = {phase: sum(run[phase] for run in both) / 2 for phase in PHASES}
        runs.append({"ranker": f"{name}, {tree}", "threads": "1 + 1", **means})
    return runs


def measure_growth(part: str, folder: str, quick: bool) -> list[dict[str, Any]]:
    parameter, sizes, _ = GROWTH[part]
    return [
        {
            "size": size,
            "trees": size if part == "trees" else USUAL["n_trees"],
            **{
                f"step{threads}": fit(folder, threads, quick, **{parameter: size})["step"]
                for threads in (1, 2)
            },
        }
        for size in sizes
    ]


def slope(runs: list[dict[str, Any]], key: str) -> float:
    first, last = runs[0], runs[-1]
    growth = last[key] * last["trees"] / (first[key] * first["trees"])
    return math.log(growth) / math.log(last["size"] / first["size"])


def print_tables(arguments: Any, found: dict[str, Any]) -> None:
    report = Report("scaling", arguments)
    if "phases" in found:
        rows, alone = [], {}
        for run in found["phases"]:
            alone.setdefault(run["ranker"], run["step"])
            processes = run["threads"] == "1 + 1"
            gain = (2 if processes else 1) * alone[run["ranker"]] / run["step"]
            rows.append(
                [run["ranker"], run["threads"], *(run[phase] for phase in PHASES), f"{gain:.2f} x"]
            )
        report.table(
            ["ranker", "threads", *PHASES, "speed-up"],
            rows,
            caption=f"Milliseconds per tree by phase, {USUAL['n_rows']:,} rows",
        )
    for part, (_, _, theory) in GROWTH.items():
        if part not in found:
            continue
        runs = found[part]
        rows = [
            [r["size"], r["step1"], r["step2"], f"{r['step1'] / r['step2']:.2f} x"] for r in runs
        ]
        report.table(
            [part, "ms/tree, 1 thread", "2 threads", "speed-up"], rows, caption=f"Cost by {part}"
        )
        report.note(
            f"Slope of the whole fit: {slope(runs, 'step1'):.2f} with one thread, "
            f"{slope(runs, 'step2'):.2f} with two. Theory: {theory}."
        )
    report.write()


if __name__ == "__main__":
    main()
