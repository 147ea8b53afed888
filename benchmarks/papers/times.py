"""Training times beside those of the papers: wall-clock time and memory of a process of its own."""

from __future__ import annotations

import argparse
from typing import Any

from _report import Report, run_apart
from papers.collections import COLLECTIONS, DataFolder

BROOF = """
import time
from rankgrove import BROOF, load_folds
folder, n_forests, n_trees, threads = arguments
fold = next(iter(load_folds(folder)))
ranker = BROOF(n_estimators=n_forests, n_trees=n_trees, random_state=0, n_jobs=threads)
wall, cpu = time.perf_counter(), time.process_time()
ranker.fit(fold.train)
result |= {"fit": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
"""

# As many documents, queries and features as Yahoo's set 2, two thirds of the values absent (0).
YAHOO = """
import time
import numpy as np
from rankgrove import make_ranker
n_queries, n_rows, n_features, threads, name, params = arguments
rng = np.random.default_rng(0)
X = rng.random((n_rows, n_features), dtype=np.float32)
X[rng.random((n_rows, n_features), dtype=np.float32) < 0.674] = 0
signal = X[:, :40] @ rng.normal(size=40) + rng.normal(size=n_rows)
y = np.searchsorted(np.quantile(signal, [0.26, 0.62, 0.9, 0.98]), signal)
others = rng.integers(n_queries, size=n_rows - n_queries)
qid = np.sort(np.concatenate([np.arange(n_queries), others]))
ranker = make_ranker(name, random_state=0, n_jobs=threads, **params)
wall, cpu = time.perf_counter(), time.process_time()
ranker.fit(X, y, qid=qid)
result |= {"fit": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
"""

SAMPLE = """
import time
from pathlib import Path
from rankgrove import load
from rankgrove.data.core.dataset import concatenate
from rankgrove.rankers.base.registry import ranker_class
folder, threads, name, params = arguments
data = concatenate([load(file) for file in sorted(Path(folder).glob("*.txt.gz"))])
ranker = ranker_class(name).as_in_paper("xia-2019", random_state=0, n_jobs=threads, **params)
wall, cpu = time.perf_counter(), time.process_time()
ranker.fit(data)
result |= {"fit": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
"""

# Table 4 of Mohan, Chen and Weinberger: minutes as regression and as classification.
MOHAN: list[tuple[str, str, dict[str, int], tuple[int, int]]] = [
    ("RF, 10000 trees", "rf", {"n_estimators": 10_000}, (130, 768)),
    ("RF, 1000 trees", "rf", {"n_estimators": 1000}, (16, 77)),
    ("GBRT, 1000 trees", "gbrt", {"n_estimators": 1000}, (103, 388)),
    ("iGBRT, 10000 + 500", "igbrt", {"n_forest_trees": 10_000, "n_estimators": 500}, (181, 842)),
]
# Table 4 of Xia, Zhai and Wang: hours on one core.
XIA: list[tuple[str, str, dict[str, int], str]] = [
    ("MART", "mart", {"n_estimators": 1000}, "83"),
    ("PLRank(obj=1)", "plrank", {"n_estimators": 1000, "n_permutations": 1}, "91"),
    ("LambdaMART", "lambdamart", {"n_estimators": 1000}, "101"),
    ("PLRank(obj=3)", "plrank", {"n_estimators": 1000, "n_permutations": 3}, "106.2"),
    ("PLRank(obj=6)", "plrank", {"n_estimators": 1000, "n_permutations": 6}, "126"),
    ("McRank", "mcrank", {"n_estimators": 2500}, "250+"),
]


def times(report: Report, arguments: argparse.Namespace) -> None:
    """Measure BROOF-gradient on a fold of MQ2008, and table 4 of two papers."""
    part, size = (0.02, 0.02) if arguments.quick else (arguments.share, 1)
    threads = arguments.threads
    forests = max(1, round(100 * part))
    broof = run_apart(BROOF, str(DataFolder.path / "mq2008"), forests, 300, threads)
    lines = [[f"BROOF-gradient, {forests} x 300 trees, a fold of MQ2008", *_cost(broof)]]
    columns = ["", "seconds", "CPU seconds", "peak MB"]
    report.table(columns, lines, caption="Training time")
    lines = []
    for number, task in enumerate(("regression", "classification")):
        for label, name, counts, minutes in MOHAN:
            shape = [round(1266 * size), round(34_815 * size), 700, threads]
            params = {**_part(counts, part), "task": task}
            run = run_apart(YAHOO, *shape, name, params)
            lines.append([f"{label}, {task}", *_cost(run), str(minutes[number])])
    report.table(
        [*columns, "paper, all trees, 8 cores: minutes"],
        lines,
        caption="34815 x 700, 1266 queries, as Yahoo's set 2 (Mohan, Chen and Weinberger, table "
        f"4): {100 * part:g} % of the trees",
    )
    lines = []
    folder = str(DataFolder.path / COLLECTIONS["WEB10K sample"].folder)
    for label, name, counts, hours in XIA:
        run = run_apart(SAMPLE, folder, 1, name, _part(counts, part))
        lines.append([label, *_cost(run), hours])
    report.table(
        [*columns, "paper, all steps, Microsoft 30K: hours"],
        lines,
        caption="WEB10K sample, one thread (Xia, Zhai and Wang, table 4): "
        f"{100 * part:g} % of the steps",
    )
    report.note(
        f"Ours have {100 * part:g} % of the trees and steps of the papers; the time of a forest is "
        "in proportion to its trees. MART to McRank as in their paper, all others by default."
    )


def _part(counts: dict[str, int], part: float) -> dict[str, Any]:
    return {name: max(1, round(count * part)) for name, count in counts.items()}


def _cost(run: dict[str, Any]) -> list[float]:
    return [run["fit"], run["cpu"], run["peak_mb"]]
