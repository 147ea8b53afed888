"""Published results beside ours, on the data sets that the papers used.

``forests``: RF-point, RF-list and RF-rand of Ibrahim and Carman, *Comparing Pointwise and Listwise
Objective Functions for Random Forest based Learning-to-Rank* (2016), on MQ2008 and OHSUMED: five
folds, 500 trees, 63 % of the queries per tree, K = floor(log2 M) + 1, every distinct value a
threshold (``max_bins``), NDCG@10 and MAP as the LETOR scripts compute them::

    python benchmarks/bench_papers.py forests                  # all folds, five runs
    python benchmarks/bench_papers.py forests --quick          # few trees, to see that it works
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from _report import Report, benchmark_arguments

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
# Folder, preset of the metrics.
COLLECTIONS = {
    "MQ2008": ("mq2008", "letor4"),
    "OHSUMED": ("ohsumed/QueryLevelNorm", "letor3"),
}
FORESTS = ("rf-point", "rf-list", "rf-rand")
# (collection, forest) -> NDCG@10 and MAP of tables V and X (one run), and of table XV (five runs).
PUBLISHED = {
    ("MQ2008", "rf-point"): ((0.2245, 0.4706), (0.2234, 0.4693)),
    ("MQ2008", "rf-list"): ((0.2326, 0.4778), (0.2313, 0.4774)),
    ("MQ2008", "rf-rand"): ((0.2232, 0.4742), (0.2228, 0.4700)),
    ("OHSUMED", "rf-point"): ((0.4187, 0.4141), (0.4306, 0.4213)),
    ("OHSUMED", "rf-list"): ((0.4377, 0.4326), (0.4443, 0.4332)),
    ("OHSUMED", "rf-rand"): ((0.4332, 0.4312), (0.4351, 0.4311)),
}
# Table XVII: NDCG@10 and MAP of each fold.
FOLDS = {
    ("MQ2008", "rf-point"): (
        (0.2170, 0.1627, 0.2477, 0.2761, 0.2189),
        (0.4546, 0.4307, 0.4516, 0.5015, 0.5147),
    ),
    ("MQ2008", "rf-list"): (
        (0.2239, 0.1709, 0.2522, 0.2922, 0.2236),
        (0.4645, 0.4318, 0.4622, 0.5205, 0.5098),
    ),
    ("OHSUMED", "rf-point"): (
        (0.3201, 0.4415, 0.4154, 0.4553, 0.4612),
        (0.3079, 0.3982, 0.4381, 0.4823, 0.4437),
    ),
    ("OHSUMED", "rf-list"): (
        (0.3474, 0.4420, 0.4536, 0.4800, 0.4656),
        (0.3354, 0.4158, 0.4533, 0.5082, 0.4506),
    ),
}


def forests(report: Report, arguments: Any) -> None:
    from rankgrove import load_folds, metric
    from rankgrove.rankers.base.registry import make_ranker

    n_trees, n_runs = (30, 1) if arguments.quick else (arguments.trees, arguments.runs)
    rows, fold_rows = [], []
    for collection, (folder, preset) in COLLECTIONS.items():
        measures = [metric("ndcg@10", preset=preset), metric("map", preset=preset)]
        folds = list(load_folds(DATA / folder))
        values: dict[str, list[Any]] = {name: [] for name in FORESTS}
        for fold in folds:
            for name in FORESTS:
                runs = []
                for seed in range(n_runs):
                    forest = make_ranker(
                        name,
                        n_estimators=n_trees,
                        max_bins=arguments.max_bins,
                        random_state=seed,
                        n_jobs=arguments.threads,
                    ).fit(fold.train)
                    scores = forest.predict(fold.test)
                    runs.append([m(fold.test.y, scores, groups=fold.test.groups) for m in measures])
                values[name].append(runs)
                print(collection, name, np.mean(runs, axis=0).round(4), flush=True)
        for name in FORESTS:
            table = np.array(values[name])  # fold, run, metric
            ours, spread = table.mean(axis=(0, 1)), table.mean(axis=0).std(axis=0)
            one, five = PUBLISHED[collection, name]
            for m, label in enumerate(("NDCG@10", "MAP")):
                rows.append(
                    [
                        f"{collection} {name} {label}",
                        f"{ours[m]:.4f}",
                        f"{spread[m]:.4f}" if n_runs > 1 else "-",
                        f"{one[m]:.4f}",
                        f"{five[m]:.4f}",
                        f"{ours[m] - five[m]:+.4f}",
                    ]
                )
                by_fold = FOLDS.get((collection, name))
                fold_rows.append(
                    [
                        f"{collection} {name} {label}",
                        *(f"{value:.4f}" for value in table.mean(axis=1)[:, m]),
                    ]
                )
                if by_fold:
                    fold_rows.append(["  paper", *(f"{value:.4f}" for value in by_fold[m])])
    caption = f"Mean of five folds and {n_runs} run(s) of {n_trees} trees"
    columns = ["", "rankgrove", "sd of runs", "tables V, X", "table XV", "difference to XV"]
    report.table(columns, rows, caption=caption)
    report.table(
        ["", *(f"Fold{i}" for i in range(1, 6))], fold_rows, caption="By fold, beside table XVII"
    )


PARTS = {"forests": forests}


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--max-bins", type=int, default=65534, help="65534: no value is rounded")
    arguments = parser.parse_args()
    report = Report(f"papers-{arguments.part}", arguments)
    PARTS[arguments.part](report, arguments)
    report.write()


if __name__ == "__main__":
    main()
