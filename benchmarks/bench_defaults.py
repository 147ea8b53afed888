"""Which settings of rankers are good defaults: declared changes of one setting each.

Every comparison is declared in ``STUDIES``: a ranker, what it starts from, and what is changed.
Both run on the same folds of every collection (``_judgments.py``) and are cut where NDCG@10 was
best on the validation part; differences are paired over the test queries, after each query's
values are averaged over the repeats. A line gives the mean over collections, its standard error
(collections weigh alike, their queries are what is sampled), the p-value of the mean (normal), and
the same corrected by Holm over all declared comparisons. Fits are kept in ``--store``: the same
command goes on where it was stopped, and more repeats reuse those that are there::

    python benchmarks/bench_defaults.py --repeats 2
    python benchmarks/bench_defaults.py --study shape
    python benchmarks/bench_defaults.py --study single --repeats 3
    python benchmarks/bench_defaults.py --study held-out --repeats 5
    python benchmarks/bench_defaults.py --study confirmed --repeats 5
    python benchmarks/bench_defaults.py --study wide --repeats 2
    python benchmarks/bench_defaults.py --quick --no-write

The first study, ``settings``, starts from leaf-wise trees of 31 leaves and forests grown to the
end. The second one, ``shape``, takes the shape of trees and the limits of leaves apart, asks every
boosted ranker, and has four more synthetic collections. The defaults were chosen by both: none of
the collections is held out any more. ``single`` asks what a single LambdaMART gains by what
CatBoost does by default. ``held-out`` asks the changed defaults again on the collections of
``_held_out.py``, which had no say, and ``confirmed`` on the real collections by which they were
chosen, with more repeats and the current version. ``wide`` asks what single rankers gain on data of
many features and few documents, where they were behind LightGBM. In these four, each repeat divides
the queries anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rankgrove
from _held_out import held_out
from _judgments import DATA, collections, more_synthetic, real_collections, wide
from _package_data import digits
from _peer_quality import System
from _peer_quality import measure as measure_peer
from _report import Report, benchmark_arguments
from rankgrove.experiments.significance import holm

METRIC = "ndcg@10"
BOOSTED = {"n_estimators": 300}
FOREST = {"n_estimators": 100}
FORESTS = ("rf-point", "rf-list", "rf-hybrid", "rf-rand", "extra-trees")


class Change(NamedTuple):
    """One declared comparison: the ranker as it is, and with something changed."""

    question: str
    ranker: str
    base: dict[str, Any]
    changed: dict[str, Any]


LEAFWISE = {
    "tree": "leafwise",
    "max_leaf_nodes": 31,
    "min_samples_leaf": 20,
    "min_child_weight": 0.001,
}
FREE_LEAVES = {"min_samples_leaf": 1, "min_child_weight": 0.0}
OBLIVIOUS = {"tree": "oblivious", "max_depth": 4, **FREE_LEAVES}
LONE_LEAVES = {"min_samples_leaf": 1}
SETTINGS = [
    *(
        change
        for ranker in ("lambdamart", "mart", "xendcg")
        for change in (
            Change("oblivious trees", ranker, LEAFWISE, OBLIVIOUS),
            Change("no limit of leaves", ranker, LEAFWISE, FREE_LEAVES),
            Change("oblivious, limits of leaves apart", ranker, LEAFWISE | FREE_LEAVES, OBLIVIOUS),
            Change("l2", ranker, LEAFWISE, {"l2": 0.01}),
            Change("l2", ranker, LEAFWISE, {"l2": 10.0}),
        )
    ),
    *(
        change
        for ranker in ("lambdamart", "mart")
        for change in (
            Change("fewer leaves", ranker, LEAFWISE, {"max_leaf_nodes": 15}),
            Change("depth of oblivious trees", ranker, OBLIVIOUS, {"max_depth": 6}),
        )
    ),
    Change("oblivious trees", "queryrmse", LEAFWISE, OBLIVIOUS),
    Change("documents per leaf", "lambdamart", LEAFWISE, {"min_samples_leaf": 5}),
    Change("documents per leaf", "lambdamart", LEAFWISE, {"min_samples_leaf": 100}),
    Change("learning rate", "lambdamart", LEAFWISE, {"learning_rate": 0.05, "n_estimators": 600}),
    Change("sampling of queries", "lambdamart", LEAFWISE, {"subsample": 0.5}),
    Change("sampling of features", "lambdamart", LEAFWISE, {"max_features": 0.3}),
    Change("bins", "lambdamart", LEAFWISE, {"max_bins": 63}),
    Change("end of growth", "rf-point", LONE_LEAVES, {"min_samples_leaf": 5}),
    Change("end of growth", "rf-point", LONE_LEAVES, {"min_samples_leaf": 20}),
    Change("end of growth", "rf-list", {"n_estimators": 30} | LONE_LEAVES, {"min_samples_leaf": 5}),
]
SMALL_LEAFWISE = {"tree": "leafwise", "max_leaf_nodes": 16, **FREE_LEAVES}
SMALL_LEVELWISE = {"tree": "levelwise", "max_leaf_nodes": 16, "max_depth": 4, **FREE_LEAVES}
SHAPE = [
    *(
        change
        for ranker in ("lambdamart", "mart", "queryrmse")
        for change in (
            Change("shape alone: 16 leaves, no limits", ranker, SMALL_LEAFWISE, OBLIVIOUS),
            Change("shape alone: 4 levels, no limits", ranker, SMALL_LEVELWISE, OBLIVIOUS),
            Change("documents per leaf", ranker, OBLIVIOUS, {"min_samples_leaf": 20}),
            Change("depth", ranker, OBLIVIOUS, {"max_depth": 5}),
            Change("depth", ranker, OBLIVIOUS, {"max_depth": 6}),
        )
    ),
    *(
        change
        for ranker in ("lambdamart", "mart")
        for change in (
            Change("randomness", ranker, OBLIVIOUS, {"random_strength": 1.0}),
            Change("randomness", ranker, OBLIVIOUS, {"sampling": "bayesian"}),
            Change("sampling of features", ranker, OBLIVIOUS, {"max_features": 0.5}),
            Change("l2", ranker, OBLIVIOUS, {"l2": 3.0}),
        )
    ),
    *(
        Change("oblivious trees", ranker, LEAFWISE, OBLIVIOUS)
        for ranker in (
            *("lambdamart", "mart", "queryrmse", "xendcg", "yetirank", "yetiloss", "querysoftmax"),
            *("pairlogit", "lambdaloss", "mcrank", "plrank", "klmart", "cosmart"),
        )
    ),
    Change("oblivious trees", "listce", LEAFWISE | {"max_grade": 4}, OBLIVIOUS),
    *(
        Change("end of growth", ranker, {"n_estimators": 30} | LONE_LEAVES, {"min_samples_leaf": 5})
        for ranker in ("rf-hybrid", "rf-rand", "extra-trees")
    ),
]
CHANGED_DEFAULTS = [
    *(
        Change("oblivious trees", ranker, LEAFWISE, OBLIVIOUS)
        for ranker in ("lambdamart", "mart", "queryrmse", "yetirank")
    ),
    *(
        Change("end of growth", ranker, {"n_estimators": 30} | LONE_LEAVES, {"min_samples_leaf": 5})
        for ranker in ("rf-point", "extra-trees")
    ),
]
SINGLE = [
    *(
        Change(question, "lambdamart", {}, changed)
        for question, changed in {
            "noise on scores": {"noise": 0.5},
            "noise on splits": {"random_strength": 1.0},
            "CatBoost's randomness": {"random_strength": 1.0, "sampling": "bayesian"},
            "CatBoost's rate": {"learning_rate": 0.03, "n_estimators": 1000},
            "CatBoost's l2": {"l2": 3.0},
            "sampling of features": {"max_features": 0.5},
            "no normalisation": {"norm": False},
        }.items()
    ),
    Change("noise on splits", "yetirank", {}, {"random_strength": 1.0}),
]
DEFAULTS = {"n_estimators": 1000}
WIDE = [
    *(
        Change("leaf-wise trees", ranker, DEFAULTS, {"tree": "leafwise"})
        for ranker in ("lambdamart", "yetirank", "queryrmse")
    ),
    *(
        Change(question, "lambdamart", DEFAULTS, changed)
        for question, changed in {
            "l2": {"l2": 10.0},
            "documents per leaf": {"min_samples_leaf": 20},
            "sampling of features": {"max_features": 0.3},
            "noise on scores": {"noise": 0.5},
            "learning rate": {"learning_rate": 0.05, "n_estimators": 2000},
        }.items()
    ),
]
STUDIES = {
    "settings": SETTINGS,
    "shape": SHAPE,
    "single": SINGLE,
    "held-out": CHANGED_DEFAULTS,
    "confirmed": CHANGED_DEFAULTS,
    "wide": WIDE,
}
COLLECTIONS = {
    "settings": collections,
    "shape": lambda folder: collections(folder) | more_synthetic(),
    "single": lambda folder: collections(folder) | more_synthetic(),
    "held-out": held_out,
    "confirmed": real_collections,
    "wide": lambda _: wide() | {"packages: digits, binary": digits()},
}
DIVIDED_ANEW = ("single", "held-out", "confirmed", "wide")


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--store", type=Path, default=Path("bench-defaults"))
    parser.add_argument("--repeats", type=int, default=1, help="seeds")
    parser.add_argument("--only", nargs="+", help="collections by parts of their names")
    parser.add_argument("--study", choices=list(STUDIES), default="settings")
    parser.add_argument("--patience", type=int, default=50, help="rounds without gain to stop")
    args = parser.parse_args()
    report = Report("defaults" if args.study == "settings" else f"defaults-{args.study}", args)
    changes = STUDIES[args.study]
    given = COLLECTIONS[args.study](args.data)
    if args.only:
        given = {name: data for name, data in given.items() if any(o in name for o in args.only)}
    if args.quick:
        given, args.repeats = dict(list(given.items())[-1:]), 1
    differences: dict[str, list[tuple[float, float]]] = {}
    for name, data in given.items():
        print(name, flush=True)
        differences[name] = measure(name, data, changes, args)
    tables(report, differences, changes, args)
    report.write()


def settings_of(change: Change, changed: bool) -> dict[str, Any]:
    """Return all settings of one side of a comparison."""
    common = FOREST if change.ranker in FORESTS else BOOSTED
    params = {**common, **change.base, **(change.changed if changed else {})}
    if params.get("tree") == "oblivious":  # max_depth says how large they are
        params.pop("max_leaf_nodes", None)
        if change.ranker == "plrank":  # whose leaf values have no limits
            params = {key: value for key, value in params.items() if key not in FREE_LEAVES}
    return params


def label(change: Change, changed: bool) -> str:
    """Return the label of a setting: equal settings share their fits."""
    params = settings_of(change, changed)
    return f"{change.ranker}:" + ",".join(f"{key}={value}" for key, value in sorted(params.items()))


def measure(name: str, data: Any, changes: list[Change], args: Any) -> list[tuple[float, float]]:
    """Return the mean difference and its standard error, of each change."""
    if args.study in DIVIDED_ANEW:
        values = divided_anew(name, data, changes, args)
    else:
        values = compared(name, data, changes, args)
    result = []
    for change in changes:
        difference = values[label(change, True)] - values[label(change, False)]
        difference = difference[~np.isnan(difference)]
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        result.append((float(difference.mean()), float(error)))
    return result


def divided_anew(name: str, data: Any, changes: list[Change], args: Any) -> dict[str, Any]:
    """Return the values of queries by setting, each repeat with folds of its own."""
    args.folds = 5
    found = {}
    for change in changes:
        for changed in (False, True):
            text = label(change, changed)
            system = System(text, change.ranker, (settings_of(change, changed),))
            found[text] = measure_peer(name, data, system, args, args.repeats)
    return found


def compared(name: str, data: Any, changes: list[Change], args: Any) -> dict[str, Any]:
    """Return the values of queries by setting, on the same folds in all repeats."""
    settings = {label(change, changed) for change in changes for changed in (False, True)}
    found = rankgrove.compare(
        {name: data},
        sorted(settings),
        metrics=[METRIC],
        repeats=args.repeats,
        max_folds=1 if args.quick else None,
        early_stopping_rounds=args.patience,
        out=args.store / name.replace(" ", "-").replace(",", ""),
        n_jobs=args.threads,
    )
    return {text: found.per_query(name, text, METRIC) for text in found.rankers}


def tables(
    report: Report,
    differences: dict[str, list[tuple[float, float]]],
    changes: list[Change],
    args: Any,
) -> None:
    """Print a line per change."""
    from scipy.special import ndtr

    table = np.array([differences[name] for name in differences])  # collection, change, 2
    mean = table[..., 0].mean(axis=0)
    error = np.sqrt((table[..., 1] ** 2).sum(axis=0)) / len(table)
    p = 2 * ndtr(-np.abs(mean) / np.maximum(error, 1e-12))
    corrected = holm(p)
    texts = [[c.question, c.ranker, said(c.base), said(c.changed)] for c in changes]
    report.table(
        ["question", "ranker", "from", "to", "difference", "se", "better on", "p", "Holm"],
        [
            [
                *text,
                f"{mean[i]:+.4f}",
                f"{error[i]:.4f}",
                f"{int((table[:, i, 0] > 0).sum())} of {len(table)}",
                f"{p[i]:.3f}",
                f"{corrected[i]:.3f}",
            ]
            for i, text in enumerate(texts)
        ],
        caption=f"NDCG@10, mean over {len(table)} collections, five folds, {args.repeats} seeds",
    )
    report.table(
        ["ranker", "to", *differences],
        [
            [
                f"{text[1]} ({text[2]})",
                text[3],
                *(f"{table[j, i, 0]:+.4f} ({table[j, i, 1]:.4f})" for j in range(len(table))),
            ]
            for i, text in enumerate(texts)
        ],
        caption="The same by collection, with standard errors",
    )


def said(params: dict[str, Any]) -> str:
    """Return settings as text, common ones by a name."""
    for name, whole in (
        ("leaf-wise, 31 leaves", LEAFWISE),
        ("oblivious, depth 4", OBLIVIOUS),
        ("no limits of leaves", FREE_LEAVES),
    ):
        if whole.items() <= params.items():
            rest = {key: value for key, value in params.items() if key not in whole}
            return f"{name}, {said(rest)}" if rest else name
    return ", ".join(f"{key}={value}" for key, value in sorted(params.items())) or "defaults"


if __name__ == "__main__":
    main()
