"""Training on categorical features beside LightGBM, XGBoost and CatBoost with their own categories.

Synthetic data: a million documents of 20,000 queries, ten numeric features and four categorical
ones of 10, 1,000 or 100,000 values, whose frequencies fall as 1 / rank and which have effects on
the label. Every contestant trains in a process of its own. Times are CPU seconds of the fit (with
coding and binning), since other work may run on the machine: compare them with ``--threads 1``, for
some libraries let idle threads spin. Real data: every Formula 1 race (``--f1 FILE``), trained on
the races before 2010, tested on those since; there, rankgrove's ways to split on categories are
compared as well, and what is lost without categories::

    python benchmarks/bench_categorical.py                    # everything, 100 trees
    python benchmarks/bench_categorical.py --quick            # a minute, to see that it works
    python benchmarks/bench_categorical.py --f1 f1_races.csv.gz
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from _report import Report, benchmark_arguments, peak_mb, ratio

N_LEAVES = 31
LEARNING_RATE = 0.1


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("contestants", nargs="*", metavar="NAME", help=", ".join(CONTESTANTS))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--cardinalities", nargs="+", type=int, default=[10, 1000, 100_000])
    parser.add_argument("--f1", type=Path, help="f1_races.csv.gz: quality on real data instead")
    parser.add_argument("--child", nargs=2, metavar=("NAME", "SIZE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print("\n" + json.dumps(run_child(args.child[0], int(args.child[1]), args)))
        return
    if args.quick:
        args.rows, args.trees = 20_000, 10
    name = "categorical" if args.f1 is None else "categorical-f1"
    report = Report(name, args, libraries=["lightgbm", "xgboost", "catboost"])
    for size in args.cardinalities if args.f1 is None else [0]:
        usual = [name for name in CONTESTANTS if args.f1 is not None or name not in WAYS]
        chosen = dict.fromkeys(["rankgrove", *(args.contestants or usual)])
        found = {name: run_parent(name, size, args) for name in chosen}
        ours = found["rankgrove"]
        rows = [
            [
                name,
                result["cpu"],
                result["wall"],
                ratio(result["cpu"], ours["cpu"]),
                result["ndcg"],
                _difference(ours["per_query"], result["per_query"]),
                result["peak_mb"],
            ]
            for name, result in found.items()
        ]
        of = f"four columns of {size:,} categories, {args.rows:,} documents"
        report.table(
            ["contestant", "CPU s", "wall s", "CPU ratio", "NDCG@10", "ours - theirs", "peak MB"],
            rows,
            caption=f"{of if args.f1 is None else 'Formula 1 races'}, {args.trees} trees",
        )
    report.write()


def _difference(ours: list[float], theirs: list[float]) -> str:
    """Mean difference over queries, and the p-value of a paired t-test."""
    from scipy.stats import ttest_rel

    difference = np.subtract(ours, theirs)
    if not difference.any():
        return "0"
    return f"{difference.mean():+.4f} (p {ttest_rel(ours, theirs).pvalue:.2g})"


def run_parent(name: str, size: int, args: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", name, str(size)]
    command += ["--trees", str(args.trees), "--rows", str(args.rows)]
    command += ["--threads", str(args.threads)]
    if args.f1 is not None:
        command += ["--f1", str(args.f1)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{name} failed:\n{run.stderr[-4000:]}")
    answer: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answer


def run_child(name: str, size: int, args: argparse.Namespace) -> dict[str, Any]:
    from rankgrove.metrics import evaluate

    train, test = formula_one(args.f1) if args.f1 else synthetic(args.rows, size)
    started, cpu = time.perf_counter(), _cpu_seconds()
    predict = CONTESTANTS[name](train, args)
    wall, cpu = time.perf_counter() - started, _cpu_seconds() - cpu
    X, y, qid = test
    result = evaluate(y, np.asarray(predict(X), np.float64), qid=qid, metrics="ndcg@10")
    values = [float(value) for value in result.per_query[0]]
    return {
        "cpu": cpu,
        "wall": wall,
        "ndcg": float(np.mean(values)),
        "per_query": values,
        "peak_mb": peak_mb(),
    }


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


Data = tuple[pd.DataFrame, Any, Any]  # features, labels and query ids


def synthetic(n_rows: int, size: int, n_test: int = 100_000) -> tuple[Data, Data]:
    """Return training and test documents, 50 per query, with categories as pandas' type."""
    rng = np.random.default_rng(7)
    n_test = min(n_test, n_rows)
    n = n_rows + n_test
    frequency = 1 / np.arange(1, size + 1)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=n).astype(np.float32) for j in range(10)})
    score = frame["x0"].to_numpy() + frame["x1"].to_numpy() * frame["x2"].to_numpy()
    for j in range(4):
        codes = rng.choice(size, n, p=frequency / frequency.sum())
        effect = rng.permutation(np.linspace(-1.5, 1.5, size))
        score = score + effect[codes]
        names = [f"value {code}" for code in rng.permutation(size)]
        frame[f"c{j}"] = pd.Categorical.from_codes(codes, categories=names)
    score = score + rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, [0.6, 0.8, 0.92, 0.98]))
    qid = np.arange(n) // 50
    first, last = slice(0, n_rows), slice(n_rows, n)
    return (
        (frame[first].reset_index(drop=True), y[first], qid[first]),
        (frame[last].reset_index(drop=True), y[last], qid[last]),
    )


def formula_one(path: Path) -> tuple[Data, Data]:
    """Return races before 2010 and since; the label is 4 for the first, 3 for the next two, ..."""
    races = pd.read_csv(path)
    order = races["finish_order"]
    y = np.select([order <= 1, order <= 3, order <= 6, order <= 10], [4, 3, 2, 1], 0)
    outcomes = [c for c in races if c.startswith("finish") or c in ("points", "retired")]
    X = races.drop(columns=[*outcomes, "race"])
    for column in ("grid", "qualifying"):  # a start from the pit lane is a text
        X[column] = pd.to_numeric(X[column], errors="coerce")
    for column in X.columns:
        if X[column].dtype == object or str(X[column].dtype).startswith("str"):
            X[column] = X[column].astype("category")
    sorted_rows = np.argsort(races["race"].to_numpy(), kind="stable")
    late = (races["year"] >= 2010).to_numpy()[sorted_rows]
    parts = [sorted_rows[~late], sorted_rows[late]]
    (train, test) = (
        (X.iloc[rows].reset_index(drop=True), y[rows], pd.factorize(races["race"].iloc[rows])[0])
        for rows in parts
    )
    return train, test


def _rankgrove(data: Data, args: argparse.Namespace, splits: str = "auto") -> Callable[[Any], Any]:
    import rankgrove

    X, y, qid = data
    ranker = rankgrove.LambdaMART(
        category_splits=splits,
        n_estimators=args.trees,
        learning_rate=LEARNING_RATE,
        tree="leafwise",
        max_leaf_nodes=N_LEAVES,
        n_jobs=args.threads,
        random_state=0,
    )
    return ranker.fit(X, y, qid=qid).predict


def _without_categories(data: Data, args: argparse.Namespace) -> Callable[[Any], Any]:
    X, y, qid = data
    numbers = [column for column in X if X[column].dtype != "category"]
    predict = _rankgrove((X[numbers], y, qid), args)
    return lambda X: predict(X[numbers])


def _lightgbm(data: Data, args: argparse.Namespace) -> Callable[[Any], Any]:
    import lightgbm

    X, y, qid = data
    params = {
        "objective": "lambdarank",
        "num_leaves": N_LEAVES,
        "learning_rate": LEARNING_RATE,
        "num_threads": args.threads,
        "verbosity": -1,
        "seed": 0,
    }
    train = lightgbm.Dataset(X, y, group=np.bincount(qid))
    return lightgbm.train(params, train, args.trees).predict


def _xgboost(data: Data, args: argparse.Namespace) -> Callable[[Any], Any]:
    import xgboost

    X, y, qid = data
    params = {
        "objective": "rank:ndcg",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": N_LEAVES,
        "max_depth": 0,
        "eta": LEARNING_RATE,
        "nthread": args.threads,
        "seed": 0,
    }
    train = xgboost.DMatrix(X, y, qid=qid, enable_categorical=True, nthread=args.threads)
    booster = xgboost.train(params, train, args.trees)
    return lambda X: booster.predict(xgboost.DMatrix(X, enable_categorical=True))


def _catboost(data: Data, args: argparse.Namespace) -> Callable[[Any], Any]:
    import catboost

    X, y, qid = data
    named = [column for column in X if X[column].dtype == "category"]

    def as_text(X: Any) -> Any:
        return X.assign(**{column: X[column].astype(object).fillna("") for column in named})

    pool = catboost.Pool(as_text(X), y, group_id=qid, cat_features=named)
    model = catboost.CatBoost(
        {
            "loss_function": "YetiRank",
            "iterations": args.trees,
            "learning_rate": LEARNING_RATE,
            "depth": 6,
            "thread_count": args.threads,
            "random_seed": 0,
            "verbose": False,
            "allow_writing_files": False,
        }
    )
    model.fit(pool)
    return lambda X: model.predict(as_text(X))


CONTESTANTS: dict[str, Callable[[Data, argparse.Namespace], Callable[[Any], Any]]] = {
    "rankgrove": _rankgrove,
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
    "catboost": _catboost,
    "rankgrove, subsets": partial(_rankgrove, splits="subsets"),
    "rankgrove, statistics": partial(_rankgrove, splits="statistics"),
    "rankgrove, both": partial(_rankgrove, splits="both"),
    "rankgrove, no categories": _without_categories,
}
WAYS = tuple(name for name in CONTESTANTS if name.startswith("rankgrove, "))

if __name__ == "__main__":
    main()
