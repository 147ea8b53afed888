"""Where to cut a boosted model: rules for the step at which a validation metric is best.

Each ranker is fitted on each fold without any rule. NDCG@10 of every validation and test query is
then measured after each tree, and every rule of ``rankgrove.training.stopping`` chooses a step from
the validation values, with and without a limit of patience. The tables have the test metric at
these steps, minus that of the plain rule, with the standard error over test queries (paired; values
of the rankers are averaged per query first), and the number of trees.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import rankgrove
from _report import Report, benchmark_arguments
from rankgrove.data.core.dataset import concatenate
from rankgrove.datasets import make_ranking
from rankgrove.metrics.parsing import metric
from rankgrove.training.stopping import STOPPING_RULES, mean_and_error, stopping_rule

Floats = npt.NDArray[np.float64]
LETOR = {
    "MQ2008": "mq2008",
    "OHSUMED": "ohsumed/QueryLevelNorm",
    "OHSUMED raw": "ohsumed/Feature-null",
}
RANKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lambdamart": ("lambdamart", {"tree": "leafwise"}),
    "lambdamart oblivious": ("lambdamart", {"tree": "oblivious"}),
    "queryrmse": ("queryrmse", {"tree": "leafwise"}),
}
NDCG = metric("ndcg@10")


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--patience", type=int, default=50)
    parser.set_defaults(threads=1)
    args = parser.parse_args()
    if args.quick:
        args.trees = 20
    report = Report("stopping", args)
    pooled: dict[str, list[Floats]] = {}
    for title, folds in collections(args):
        figures = [figures_of_fold(fold, args) for fold in folds]
        names = list(figures[0])
        by_query = {name: np.concatenate([f[name][0] for f in figures]) for name in names}
        trees = {name: np.mean([f[name][1] for f in figures]) for name in names}
        plain = by_query["best"]
        rows = []
        for name in names:
            difference = by_query[name] - plain
            pooled.setdefault(name, []).append(difference)
            rows.append([name, f"{np.nanmean(by_query[name]):.4f}", *told(difference), trees[name]])
        report.table(
            ["rule", "NDCG@10", "- best", "standard error", "trees"],
            rows,
            caption=f"{title}: {int((~np.isnan(plain)).sum())} test queries, "
            f"{len(folds)} folds, up to {args.trees} trees",
        )
    rows = []
    for name, differences in pooled.items():
        means = [mean_and_error(d)[0] for d in differences]
        errors = np.array([mean_and_error(d)[1] for d in differences])
        error = np.sqrt((errors**2).sum()) / len(errors)
        positive = sum(m > 0 for m in means)
        rows.append([name, f"{np.mean(means):+.4f}", f"{error:.4f}", f"{positive}"])
    report.table(
        ["rule", "- best", "standard error", "collections ahead"],
        rows,
        caption="Mean over collections",
    )
    report.write()


def told(difference: Floats) -> list[str]:
    """Mean and standard error as text."""
    mean, error = mean_and_error(difference)
    return [f"{mean:+.4f}", f"{error:.4f}"]


def collections(args: argparse.Namespace) -> Iterator[tuple[str, list[Any]]]:
    """Yield the collections with their folds (train, validation, test)."""
    n_folds = 1 if args.quick else 5
    for title, folder in LETOR.items():
        if (args.data / folder).is_dir():
            yield title, list(rankgrove.load_folds(args.data / folder))[:n_folds]
    folder = args.data / "mslr-web10k-sample"
    if folder.is_dir():
        parts = [rankgrove.load(path) for path in sorted(folder.glob("*.txt.gz"))]
        yield "WEB10K sample", list(rankgrove.kfold(concatenate(parts), 5, seed=0))[:n_folds]
    for n_queries, docs in ((60, 100), (600, 20)):
        data = make_ranking(n_queries, docs_per_query=docs, noise=2.0, seed=1)
        title = f"synthetic, {n_queries} queries of {docs}"
        yield title, list(rankgrove.kfold(data, 5, seed=0))[:n_folds]


def figures_of_fold(fold: Any, args: argparse.Namespace) -> dict[str, tuple[Floats, float]]:
    """Test values per query and numbers of trees, means over the rankers, by rule."""
    train, valid, test = fold
    found: dict[str, list[tuple[Floats, float]]] = {}
    for name, params in RANKERS.values():
        ranker = rankgrove.make_ranker(
            name, n_estimators=args.trees, random_state=0, n_jobs=args.threads, **params
        ).fit(train)
        steps = range(1, ranker.model_.n_steps + 1)
        on_valid, on_test = (
            np.array([NDCG.per_query(data, ranker.predict(data, n_steps=n)) for n in steps])
            for data in (valid, test)
        )
        for rule in STOPPING_RULES:
            for label, patience in ((rule, None), (f"{rule}, patience", args.patience)):
                step = chosen_step(rule, on_valid, patience)
                found.setdefault(label, []).append((on_test[step - 1], step))
        found.setdefault("100 trees", []).append((on_test[min(100, len(steps)) - 1], 100))
    return {
        label: (np.mean([v for v, _ in runs], axis=0), float(np.mean([s for _, s in runs])))
        for label, runs in found.items()
    }


def chosen_step(name: str, on_valid: Floats, patience: int | None) -> int:
    """The step that a rule keeps."""
    rule = stopping_rule(name, greater_is_better=True)
    for step, values in enumerate(on_valid, 1):
        rule.note(float(np.nanmean(values)), values)
        if patience is not None and step - rule.last_progress >= patience:
            break
    assert rule.best_step is not None
    return rule.best_step


if __name__ == "__main__":
    main()
