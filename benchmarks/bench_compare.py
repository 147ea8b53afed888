"""What a comparison costs beyond the fits that it is made of.

Eight rankers of 100 trees on the five folds of MQ2008: ``rankgrove.compare`` (reading, binning,
fitting, predicting, metrics per query, the store, tests of differences) beside a plain loop that
reads the folds and does nothing but fit, in the same process, one after the other. Without the data
sets, on synthetic data of that shape.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import rankgrove
from _report import Report, benchmark_arguments
from rankgrove.datasets import make_ranking

MQ2008 = Path(__file__).resolve().parents[2] / "shared" / "data" / "mq2008"
RANKERS = ("lambdamart", "mart", "xendcg", "plrank", "klmart", "rf-point", "rf-list", "extra-trees")


def main() -> None:
    arguments = benchmark_arguments(__doc__).parse_args()
    report = Report("compare", arguments)
    n_trees = 5 if arguments.quick else 100
    folds = _folds()
    loop = min(_loop(folds, n_trees, arguments.threads) for _ in range(2))
    seconds = min(_compare(folds, n_trees, arguments.threads) for _ in range(2))
    report.table(
        ["", "seconds", "of the fits"],
        [["the fits alone", loop, "1.00 x"], ["compare", seconds, f"{seconds / loop:.2f} x"]],
        caption=f"{len(RANKERS)} rankers of {n_trees} trees on five folds of "
        f"{'MQ2008' if MQ2008.is_dir() else 'synthetic data like MQ2008'}",
    )
    report.note("Rankers: " + ", ".join(RANKERS))
    report.write()


def _folds() -> Any:
    if MQ2008.is_dir():
        return MQ2008
    return list(rankgrove.kfold(make_ranking(784, docs_per_query=19, n_features=46, seed=0)))


def _loop(folds: Any, n_trees: int, threads: int) -> float:
    """Seconds that the fits take."""
    spent = 0.0
    for fold in rankgrove.load_folds(folds) if isinstance(folds, Path) else folds:
        for name in RANKERS:
            ranker = rankgrove.make_ranker(name, n_estimators=n_trees, n_jobs=threads)
            start = time.perf_counter()
            ranker.fit(fold.train)
            spent += time.perf_counter() - start
    return spent


def _compare(folds: Any, n_trees: int, threads: int) -> float:
    specs = [f"{name}:n_estimators={n_trees}" for name in RANKERS]
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        rankgrove.compare(folds, specs, metrics=("ndcg@10", "map"), out=out, n_jobs=threads)
        return time.perf_counter() - start


if __name__ == "__main__":
    main()
