"""Ours beside LightGBM, XGBoost and CatBoost: defaults, comparable settings, tuned, bagged.

Every system learns on the same folds and is cut where NDCG@10 was best on the validation part.
Each of ``--seeds`` is a seed of every system and a division into folds: the first is that of the
collection if it has one, others are drawn at random (most systems have no randomness of their own).
Values per query are kept in ``--store`` as they come, so that the same command goes on where it was
stopped. A difference is ours minus the peer, paired over the queries of a collection after each
query's values are averaged over the seeds; p-values (paired t test) are corrected by Holm over all
comparisons of a table. Our trees and the candidates of ``Auto`` were chosen on the collections of
``_judgments.py``, and ``Auto`` is a bag: the tables say so. Those of ``_held_out.py`` had no say,
and those of ``_package_data.py`` none but in what ``NOTES`` tells.
"""

from __future__ import annotations

import argparse
import copy
import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rankgrove
from _held_out import held_out
from _judgments import collections, more_synthetic
from _package_data import package_data
from _report import Report
from rankgrove.data.core.dataset import concatenate
from rankgrove.data.reading.folds import Fold
from rankgrove.experiments.peers import fit_peer, peer_version
from rankgrove.experiments.significance import holm, paired_t
from rankgrove.rankers.auto import CANDIDATES
from rankgrove.rankers.base.ranker_text import read_ranker

METRIC = "ndcg@10"
PATIENCE = 50
N_BAGS = 10
SHARE = 0.63  # of the queries of each bag of a peer
N_FOLDS = 5

SETS = {
    "study": lambda folder: collections(folder) | more_synthetic(),
    "held-out": held_out,
    "packages": package_data,
}
NOTES = {
    "study": "The shape of our trees was chosen on these collections (defaults.md, "
    "defaults-shape.md), and so were the candidates of auto: expect smaller differences on other "
    "data, such as those of the tables called held out.",
    "held-out": "No choice was made on these collections: they were declared before the first "
    "measurement on them.",
    "packages": "These collections were declared before the first measurement on them. Since then, "
    "the digits brought leaf-wise trees into the race of auto, and the diamonds, lectures, "
    "flights and MovieLens had a say in what category_smoothing and category_l2 count.",
}
A_BAG = (
    f"auto is a bag of {N_BAGS} models, chosen among up to five candidates; lambdamart and the "
    "peers are single models. The table bagged has bags of the peers."
)
SAMPLES = (
    f"Bags of the peers are the mean of {N_BAGS} fits, each to {SHARE:.0%} of the training queries "
    "drawn without replacement (as many as a bootstrap sample holds), with comparable settings; "
    "ours are as Bagged makes them."
)


class System(NamedTuple):
    """A ranker of ours or ``library:objective``, with settings among which folds choose.

    ``binary`` labels are those of at least half the highest grade.
    """

    label: str
    use: str
    settings: tuple[dict[str, Any], ...] = ({},)
    bagged: bool = False
    metric: str = METRIC
    binary: bool = False


PEERS = {
    "LightGBM": "lightgbm:lambdarank",
    "XGBoost": "xgboost:rank:ndcg",
    "CatBoost": "catboost:YetiRank",
}
LIBRARIES = ("lightgbm", "xgboost", "catboost")
TREES = 500
OURS = {"n_estimators": TREES, "tree": "oblivious", "max_leaf_nodes": 16}
LEAFWISE = {"n_estimators": TREES, "tree": "leafwise", "max_leaf_nodes": 31}
AS_LIGHTGBM = {**LEAFWISE, "l2": 0.0}
COMPARABLE = {
    "LightGBM": {"n_estimators": TREES, "num_leaves": 31, "learning_rate": 0.1},
    "XGBoost": {"n_estimators": TREES, "max_depth": 5, "learning_rate": 0.1},
    "CatBoost": {"iterations": TREES, "depth": 5, "learning_rate": 0.1},
}
# Names of leaf size, learning rate, regularisation and sampling of features.
TUNED = {
    "LightGBM": ("num_leaves", "learning_rate", "lambda_l2", "feature_fraction"),
    "XGBoost": ("max_leaves", "learning_rate", "reg_lambda", "colsample_bynode"),
    "CatBoost": ("depth", "learning_rate", "l2_leaf_reg", "rsm"),
    "ours": ("max_leaf_nodes", "learning_rate", "l2", "max_features"),
}


def trials(system: str, n_trials: int) -> tuple[dict[str, Any], ...]:
    """Return random settings, the same draws for every system; the first is comparable."""
    size, rate, l2, features = TUNED[system]
    rng = np.random.default_rng(0)
    common = dict(COMPARABLE.get(system, OURS))
    found = [common]
    for _ in range(n_trials - 1):
        leaves = int(2 ** rng.integers(3, 7))
        drawn = {
            size: int(np.log2(leaves)) if system == "CatBoost" else leaves,
            rate: float(np.round(10 ** rng.uniform(-1.7, -0.7), 3)),
            l2: float(np.round(10 ** rng.uniform(-1, 1.5), 2)),
            features: float(np.round(rng.uniform(0.2, 1.0), 2)),
        }
        found.append({**common, **drawn})
    return tuple(found)


TABLES: dict[str, list[System]] = {
    "defaults": [
        System("auto", "auto"),
        System("lambdamart", "lambdamart"),
        System("yetirank", "yetirank"),
        *(System(name, use) for name, use in PEERS.items()),
    ],
    "comparable settings": [
        System("lambdamart", "lambdamart", (OURS,)),
        System("yetirank", "yetirank", (OURS,)),
        System("lambdamart, leaf-wise", "lambdamart", (LEAFWISE,)),
        System("yetirank, leaf-wise", "yetirank", (LEAFWISE,)),
        *(System(name, use, (COMPARABLE[name],)) for name, use in PEERS.items()),
    ],
    "bagged": [
        System("auto", "auto"),
        System("bagged lambdamart", "lambdamart", (OURS,), bagged=True),
        System("blend", "blend"),
        *(System(name, use, (COMPARABLE[name],), bagged=True) for name, use in PEERS.items()),
    ],
    "cross entropy": [
        System("xendcg", "xendcg", (OURS,)),
        System("xendcg, leaf-wise, l2=0", "xendcg", (AS_LIGHTGBM,)),
        System("LightGBM", "lightgbm:rank_xendcg", (COMPARABLE["LightGBM"],)),
    ],
    "stochastic": [
        System("stochasticrank", "stochasticrank", ({**OURS, "n_permutations": 10},)),
        System("stochasticrank, 1 draw", "stochasticrank", ({**OURS, "n_permutations": 1},)),
        System("yetirank", "yetirank", (OURS,)),
        System(
            "CatBoost", "catboost:StochasticRank:metric=NDCG;type=Exp", (COMPARABLE["CatBoost"],)
        ),
    ],
    **{
        f"tuned, {n} trials": [
            System("lambdamart", "lambdamart", trials("ours", n)),
            *(System(name, use, trials(name, n)) for name, use in PEERS.items()),
        ]
        for n in (30, 10)
    },
}


def run(report: Report, args: argparse.Namespace) -> None:
    """Measure the chosen tables on the collections of a set, and print them."""
    given = chosen_collections(args)
    report.note(NOTES[args.collections])
    for table in args.tables:
        systems = TABLES[table]
        values: dict[str, dict[str, Any]] = {}
        seeds, lacking = {}, []
        for name, data in given.items():
            seeds[name] = stored_seeds(name, systems, args) if args.stored else args.seeds
            if not seeds[name]:
                lacking.append(name)
                continue
            values[name] = {
                system.label: measure(name, data, system, args, seeds[name]) for system in systems
            }
        report.note(
            f"{table}: {n_folds(args)} of {N_FOLDS} folds, divided into folds as often as the "
            f"table says; training stops after {PATIENCE} trees without a better value on the "
            "validation part."
        )
        if lacking:
            report.note(f"Not measured: {'; '.join(lacking)}.")
        if table in ("defaults", "bagged"):
            report.note(A_BAG if table == "defaults" else SAMPLES)
        show(report, table, values, seeds)


def chosen_collections(args: argparse.Namespace) -> dict[str, Any]:
    """Return the collections of a set, those of ``--only`` or the last one if in a hurry."""
    given: dict[str, Any] = SETS[args.collections](args.data)
    if args.only:
        given = {name: data for name, data in given.items() if any(o in name for o in args.only)}
    return dict(list(given.items())[-1:]) if args.quick else given


def stored_seeds(name: str, systems: list[System], args: argparse.Namespace) -> int:
    """Return how many of the first seeds have all folds of all systems in the store."""
    for seed in range(args.seeds):
        paths = [
            cell_path(args, name, fold, seed, system)
            for fold in range(n_folds(args))
            for system in systems
        ]
        if not all(path.exists() for path in paths):
            return seed
    return int(args.seeds)


def n_folds(args: argparse.Namespace) -> int:
    return 1 if args.quick else int(args.folds)


def cell_path(args: argparse.Namespace, name: str, fold: int, seed: int, system: System) -> Path:
    """Return the file of the values of a fold."""
    facts = [name, fold, seed, system.use, system.settings, system.bagged, made_by(system.use)]
    if system.metric != METRIC or system.binary:
        facts += [system.metric, system.binary]
    digest = hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()
    return Path(args.store / f"{digest[:16]}.npy")


@functools.cache
def made_by(use: str) -> Any:
    """Return what a fit depends on beside its settings: a version, or our defaults."""
    library = use.partition(":")[0]
    if library in LIBRARIES:
        return peer_version(library)
    names = [use, *(CANDIDATES if use == "auto" else ("lambdamart", "mart", "rf-point"))]
    return [read_ranker(name).get_params(deep=False) for name in names]


def measure(name: str, data: Any, system: System, args: argparse.Namespace, n_seeds: int) -> Any:
    """Return the values of all queries, in the order of their ids, averaged over seeds."""
    runs = []
    for seed in range(n_seeds):
        parts, ids = [], []
        for number, fold in enumerate(folds_of(data, seed)):
            if number == n_folds(args):
                break
            path = cell_path(args, name, number, seed, system)
            if not path.exists():
                values = best_of(system, fold, seed, args.threads)
                args.store.mkdir(parents=True, exist_ok=True)
                np.save(path, values)
            parts.append(np.load(path))
            ids.append(fold.test.groups.ids.astype(str))
        runs.append(np.concatenate(parts)[np.argsort(np.concatenate(ids))])
    print(name, system.label, f"{np.nanmean(runs):.4f}", flush=True)
    return np.mean(runs, axis=0)


def folds_of(data: Any, seed: int) -> Iterator[Fold]:
    """Return the folds of a seed."""
    if isinstance(data, str) and seed == 0:
        return rankgrove.load_folds(data)
    return rankgrove.kfold(whole(data) if isinstance(data, str) else data, N_FOLDS, seed)


@functools.cache
def whole(folder: str) -> Any:
    """Return all queries of a folder of folds."""
    return concatenate(list(next(iter(rankgrove.load_folds(folder)))))


def best_of(system: System, fold: Fold, seed: int, threads: int) -> Any:
    """Return the test values of the setting that is best on the validation part."""
    metric = rankgrove.metric(system.metric)
    if system.binary:
        fold = with_binary_labels(fold)
    best, chosen = -np.inf, None
    for setting in system.settings:
        on_valid, on_test = scores_of(system, setting, fold, seed, threads)
        value = metric(fold.validation.y, on_valid, groups=fold.validation.groups)
        if value > best:
            best = value
            chosen = metric.per_query(fold.test.y, on_test, groups=fold.test.groups)
    return chosen


def with_binary_labels(fold: Fold) -> Fold:
    """Return the fold with the labels 0 and 1."""
    least = max(part.y.max() for part in fold) / 2
    parts = [copy.copy(part) for part in fold]
    for part in parts:
        part.y = (part.y >= least).astype(float)
    return Fold(*parts)


def scores_of(system: System, setting: dict[str, Any], fold: Fold, seed: int, threads: int) -> Any:
    parts = (fold.validation, fold.test)
    library, _, target = system.use.partition(":")
    if library not in LIBRARIES:
        ranker = rankgrove.make_ranker(library, **setting)
        if system.bagged:
            ranker = rankgrove.Bagged(ranker=ranker, n_bags=N_BAGS)
        ranker.set_params(random_state=seed, n_jobs=threads)
        rounds = PATIENCE if ranker.stops_early else None
        ranker.fit(
            fold.train,
            eval_set=fold.validation,
            eval_metric=system.metric,
            early_stopping_rounds=rounds,
        )
        return [ranker.predict(part) for part in parts]

    def fitted(train: Any, number: int) -> list[Any]:
        peer = fit_peer(
            library,
            target,
            setting,
            Fold(train, *parts),
            metric=rankgrove.metric(system.metric),
            seed=number,
            rounds=PATIENCE,
            n_jobs=threads,
        )
        return [np.asarray(peer.score(part, threads), np.float64) for part in parts]

    if not system.bagged:
        return fitted(fold.train, seed)
    rng = np.random.default_rng(seed)
    n_queries = fold.train.n_queries
    bags = [
        fitted(fold.train.select_queries(rng.permutation(n_queries)[: int(SHARE * n_queries)]), n)
        for n in range(N_BAGS)
    ]
    return [np.mean(scores, axis=0) for scores in zip(*bags, strict=True)]


def show(
    report: Report, table: str, values: dict[str, dict[str, Any]], seeds: dict[str, int]
) -> None:
    """Print means, and differences of ours from each peer."""
    lines, p_values, texts = [], [], []
    for name, found in values.items():
        ours = [label for label in found if label not in PEERS]
        n_queries = int(np.isfinite(next(iter(found.values()))).sum())
        means = "  ".join(f"{label} {np.nanmean(v):.4f}" for label, v in found.items())
        lines.append([name, n_queries, seeds[name], means])
        for one in ours:
            for peer in (label for label in found if label in PEERS):
                difference = found[one] - found[peer]
                difference = difference[np.isfinite(difference)]
                error = difference.std(ddof=1) / np.sqrt(len(difference))
                p_values.append(float(paired_t(difference[None])[0]))
                ratio = difference.mean() / max(error, 1e-12)
                texts.append(
                    [name, one, peer, f"{difference.mean():+.4f}", f"{error:.4f}", f"{ratio:+.1f}"]
                )
    columns = ["collection", "queries", "divisions", "NDCG@10"]
    report.table(columns, lines, caption=f"Peers, {table}: means")
    corrected = holm(np.array(p_values))
    report.table(
        ["collection", "ours", "peer", "ours - peer", "se", "in se", "p", "Holm"],
        [
            [*text, f"{p:.3f}", f"{h:.3f}"]
            for text, p, h in zip(texts, p_values, corrected.tolist(), strict=True)
        ],
        caption=f"Peers, {table}: differences",
    )
