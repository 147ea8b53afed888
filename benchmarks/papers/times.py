"""Training times beside those of the papers: wall-clock time and memory of a process of its own."""

from __future__ import annotations

import argparse

from _report import Report, run_apart
from papers.collections import DataFolder

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
IGBRT = """
import time
import numpy as np
from rankgrove import IGBRT
n_queries, n_rows, n_features, n_forest_trees, n_trees, threads = arguments
rng = np.random.default_rng(0)
X = rng.random((n_rows, n_features), dtype=np.float32)
X[rng.random((n_rows, n_features), dtype=np.float32) < 0.674] = 0
signal = X[:, :40] @ rng.normal(size=40) + rng.normal(size=n_rows)
y = np.searchsorted(np.quantile(signal, [0.26, 0.62, 0.9, 0.98]), signal)
others = rng.integers(n_queries, size=n_rows - n_queries)
qid = np.sort(np.concatenate([np.arange(n_queries), others]))
ranker = IGBRT(
    n_forest_trees=n_forest_trees, n_estimators=n_trees, random_state=0, n_jobs=threads
)
wall, cpu = time.perf_counter(), time.process_time()
ranker.fit(X, y, qid=qid)
result |= {"fit": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
"""


def times(report: Report, arguments: argparse.Namespace) -> None:
    """Measure BROOF-gradient on a fold of MQ2008, and iGBRT on data like Yahoo's set 2."""
    part = 0.02 if arguments.quick else arguments.share
    forests, threads = max(1, round(100 * part)), arguments.threads
    queries, rows = round(1266 * part), round(34_815 * part)
    forest, trees = max(1, round(10_000 * part)), max(1, round(500 * part))
    broof = run_apart(BROOF, str(DataFolder.path / "mq2008"), forests, 300, threads)
    igbrt = run_apart(IGBRT, queries, rows, 700, forest, trees, threads)
    lines = [
        [f"BROOF-gradient, {forests} x 300 trees, a fold of MQ2008", broof, "-"],
        [
            f"iGBRT, {forest} + {trees} trees, {queries} queries, {rows} x 700",
            igbrt,
            "181 minutes, 8 cores (table 4)" if part == 1 else "-",
        ],
    ]
    report.table(
        ["", "seconds", "CPU seconds", "peak MB", "paper"],
        [[what, run["fit"], run["cpu"], run["peak_mb"], paper] for what, run, paper in lines],
        caption="Training time",
    )
