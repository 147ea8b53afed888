"""NDCG@10 and MAP of the boosted rankers beside LightGBM's lambdarank on MQ2008 and OHSUMED.

Five folds each, measured as LETOR's own scripts do (presets ``letor4`` and ``letor3``). Everybody
has the same leaves, trees and learning rate, and is cut where NDCG@10 was best on the validation
part, by the same evaluator. Every system runs with its other defaults, and once more "validated":
of a few regularisations and of the ranker's own variants (``CHOICES``), each fold takes what was
best on its validation part; the test part has no say. OHSUMED has 106 queries, and chance moves
every system by 0.01 and more: figures are means over several numbers of bins, a change that should
not matter, and the table says how far single runs lie apart::

    python benchmarks/bench_quality.py --data ../shared/data
    python benchmarks/bench_quality.py --quick

With ``--tables``, ours beside LightGBM, XGBoost and CatBoost on every collection of
``_judgments.py``, or on those of ``_held_out.py`` or ``_package_data.py``, each with its defaults,
comparable settings, bagged, or tuned by 30 or 10 trials (``_peer_quality.py``)::

    python benchmarks/bench_quality.py --tables "comparable settings" --seeds 3
    python benchmarks/bench_quality.py --tables defaults --collections held-out

``--tables losses`` sets every ranking loss of the three beside ours of its name
(``_peer_losses.py``). The commands at the top of the result files have ``--stored``: they print
what earlier commands without it have measured into ``--store``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import _peer_losses
import _peer_quality
import rankgrove
from _report import Report, benchmark_arguments

DATA_SETS = {
    "MQ2008": ("mq2008", "letor4"),
    "OHSUMED": ("ohsumed/QueryLevelNorm", "letor3"),
}
RANKERS = (
    "lambdamart",
    "mart",
    "mcrank",
    "plrank",
    "cosmart",
    "klmart",
    "xendcg",
    "yetirank",
    "rcrank",
)
PEER = "lightgbm lambdarank"
LOSSES = "losses"  # a table of its own
VALIDATED = ", validated"
LEAF_SIZES = (20, 100, 400)
# Settings tried when they are validated, beside `STOCHASTIC` and documents per leaf.
CHOICES: dict[str, list[dict[str, Any]]] = {
    "mart": [{"target": target} for target in ("label", "gain", "normalised_gain")],
    "mcrank": [{"ordinal": o, "gain": gain} for o in (False, True) for gain in ("linear", "exp")],
}
STOCHASTIC = {"l2": 20.0, "max_features": 0.3, "subsample": 0.5}
LIGHTGBM_STOCHASTIC = {
    "lambda_l2": 20.0,
    "feature_fraction": 0.3,
    "bagging_by_query": True,
    "bagging_fraction": 0.5,
    "bagging_freq": 1,
}


def main() -> None:
    parser = benchmark_arguments(__doc__)
    parser.add_argument("rankers", nargs="*", metavar="RANKER", help=", ".join(RANKERS))
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--patience", type=int, default=200, help="rounds without gain to stop")
    parser.add_argument("--bins", type=int, nargs="+", default=[255, 128, 63])
    parser.add_argument(
        "--tables", nargs="+", choices=[*_peer_quality.TABLES, LOSSES], metavar="TABLE"
    )
    parser.add_argument("--store", type=Path, default=Path("bench-quality"))
    parser.add_argument("--stored", action="store_true", help="print what --store has, fit nothing")
    parser.add_argument("--seeds", type=int, default=1, help="divisions that --tables average")
    parser.add_argument("--folds", type=int, default=5, help="folds of --tables that are measured")
    parser.add_argument("--collections", choices=list(_peer_quality.SETS), default="study")
    parser.add_argument("--only", nargs="+", help="collections of --tables by parts of their names")
    parser.add_argument("--losses", nargs="+", help="losses of the table of that name")
    args = parser.parse_args()
    if args.tables and LOSSES in args.tables and len(args.tables) > 1:
        parser.error("the table of losses is printed alone")
    if args.stored and not any(args.store.glob("*.npy")):
        parser.error(f"--store {args.store} has no values; without --stored they are measured")
    if args.tables:
        given = [] if args.collections == "study" else [args.collections]
        name = "-".join(["quality-peers", *args.tables[0].split(",")[0].split(), *given])
        report = Report(name, args, libraries=["lightgbm", "xgboost", "catboost"])
        (_peer_losses if args.tables == [LOSSES] else _peer_quality).run(report, args)
        report.write()
        return
    if args.quick:
        args.trees, args.bins = 20, [255]
    report = Report("quality", args, libraries=["lightgbm"])
    for title, (folder, preset) in DATA_SETS.items():
        if not (args.data / folder).is_dir():
            report.note(f"{title}: no data at {args.data / folder}")
            continue
        folds = list(rankgrove.load_folds(args.data / folder))[: 1 if args.quick else 5]
        rankers = args.rankers or RANKERS
        names = [PEER, PEER + VALIDATED]
        names += [name + suffix for name in rankers for suffix in ("", VALIDATED)]
        figures = {name: measure(name, folds, preset, args) for name in names}
        peer = figures[PEER].mean(axis=(0, 1))
        report.table(
            [
                "ranker",
                "NDCG@10",
                "MAP",
                "NDCG@10 - peer",
                "MAP - peer",
                "runs from",
                "to",
                "folds",
            ],
            [
                [
                    name,
                    *(f"{value:.4f}" for value in values.mean(axis=(0, 1))),
                    *(f"{value:+.4f}" for value in values.mean(axis=(0, 1)) - peer),
                    f"{values[..., 0].mean(axis=1).min():.4f}",
                    f"{values[..., 0].mean(axis=1).max():.4f}",
                    " ".join(f"{value:.3f}" for value in values[..., 0].mean(axis=0)),
                ]
                for name, values in figures.items()
            ],
            caption=f"{title}, mean over {len(folds)} folds and {len(args.bins)} runs, preset "
            f"{preset}, {args.trees} trees of {args.leaves} leaves, learning rate "
            f"{args.learning_rate:g}",
        )
    report.write()


def measure(name: str, folds: list[Any], preset: str, args: argparse.Namespace) -> Any:
    """NDCG@10 and MAP on the test part, an array of runs x folds x 2."""
    metrics = [rankgrove.metric(text, preset=preset) for text in ("ndcg@10", "map")]
    fit = fit_lightgbm if name.startswith(PEER) else fit_rankgrove
    result = np.empty((len(args.bins), len(folds), 2))
    for run, max_bins in enumerate(args.bins):
        for fold, (train, valid, test) in enumerate(folds):
            best = -1.0
            for settings in choices(name):
                predict = fit(name, settings, train, valid, metrics[0], max_bins, args)
                on_valid, on_test = (
                    [
                        metric(part.y, np.asarray(predict(part.X), np.float64), groups=part.groups)
                        for metric in metrics
                    ]
                    for part in (valid, test)
                )
                if on_valid[0] > best:
                    best, result[run, fold] = on_valid[0], on_test
    print(name, result.mean(axis=(0, 1)).round(4), flush=True)
    return result


def choices(name: str) -> list[dict[str, Any]]:
    """Settings among which the validation part chooses; one of defaults if it does not."""
    if not name.endswith(VALIDATED):
        return [{}]
    own, common, leaf_size = (
        CHOICES.get(name.removesuffix(VALIDATED), [{}]),
        STOCHASTIC,
        "min_samples_leaf",
    )
    if name.startswith(PEER):
        common, leaf_size = LIGHTGBM_STOCHASTIC, "min_data_in_leaf"
    return [{**common, **variant, leaf_size: size} for variant in own for size in LEAF_SIZES]


def fit_rankgrove(
    name: str,
    settings: dict[str, Any],
    train: Any,
    valid: Any,
    ndcg: Any,
    max_bins: int,
    args: argparse.Namespace,
) -> Any:
    ranker_name = name.removesuffix(VALIDATED)
    size = {"max_depth": args.leaves.bit_length()} if ranker_name == "rcrank" else {}
    ranker = rankgrove.make_ranker(
        ranker_name,
        n_estimators=args.trees,
        learning_rate=args.learning_rate,
        n_jobs=args.threads,
        random_state=0,
        max_bins=max_bins,
        **(size or {"tree": "leafwise", "max_leaf_nodes": args.leaves}),
        **settings,
    )
    ranker.fit(train, eval_set=valid, eval_metric=ndcg, early_stopping_rounds=args.patience)
    return ranker.predict


def fit_lightgbm(
    name: str,
    settings: dict[str, Any],
    train: Any,
    valid: Any,
    ndcg: Any,
    max_bins: int,
    args: argparse.Namespace,
) -> Any:
    import lightgbm

    def ours(scores: Any, _: Any) -> tuple[str, float, bool]:
        return "ndcg@10", ndcg(valid.y, scores, groups=valid.groups), True

    settings = settings | {
        "objective": "lambdarank",
        "num_leaves": args.leaves,
        "learning_rate": args.learning_rate,
        "num_threads": args.threads,
        "max_bin": max_bins,
        "metric": "None",
        "verbosity": -1,
        "seed": 0,
    }
    booster = lightgbm.train(
        settings,
        lightgbm.Dataset(train.X, train.y, group=train.group_sizes),
        args.trees,
        valid_sets=[lightgbm.Dataset(valid.X, valid.y, group=valid.group_sizes)],
        feval=ours,
        callbacks=[lightgbm.early_stopping(args.patience, verbose=False)],
    )
    return booster.predict


if __name__ == "__main__":
    main()
