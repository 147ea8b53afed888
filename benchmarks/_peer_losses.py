"""Every ranking loss of LightGBM, XGBoost and CatBoost beside ours of that name.

A loss of a peer is compared with ours of the same name alone, with the settings of the table
"comparable settings", once with our default trees and once with trees like the peer's (those like
CatBoost's have its noise on scores of splits and its sampling, too). The peers stop by the metric
of the row, as ours do. Binary labels are those of at least half the highest grade: XGBoost's
rank:map takes no others, and CatBoost's CrossEntropy none beyond [0, 1]. CrossEntropy stands in
for QueryCrossEntropy, which CatBoost trains on a GPU only. The rest is as in ``_peer_quality.py``.
The mean over collections weighs each of them alike; its p-value (normal) is corrected by Holm over
all rows. An empty cell was not measured.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, NamedTuple

import numpy as np

from _peer_quality import (
    AS_LIGHTGBM,
    COMPARABLE,
    METRIC,
    N_FOLDS,
    NOTES,
    OURS,
    PATIENCE,
    TREES,
    System,
    chosen_collections,
    measure,
    n_folds,
    stored_seeds,
)
from _report import Report
from rankgrove.experiments.significance import holm

LIKE: dict[str, dict[str, Any]] = {
    "LightGBM": AS_LIGHTGBM,
    "XGBoost": {
        "n_estimators": TREES,
        "tree": "levelwise",
        "max_depth": 5,
        "max_leaf_nodes": None,
        "min_samples_leaf": 1,
        "min_child_weight": 1.0,
    },
    "CatBoost": {
        "n_estimators": TREES,
        "tree": "oblivious",
        "max_leaf_nodes": 32,
        "l2": 3.0,
        "random_strength": 1.0,
        "sampling": "mvs",
        "subsample": 0.8,
    },
}
# LightGBM stops by NDCG@10 without being asked.
STOPS_BY: dict[tuple[str, str], dict[str, Any]] = {
    ("LightGBM", "ndcg@10"): {},
    ("XGBoost", "ndcg@10"): {"eval_metric": "ndcg@10"},
    ("CatBoost", "ndcg@10"): {"eval_metric": "NDCG:top=10;type=Exp"},
    ("CatBoost", "filtered-dcg"): {"eval_metric": "FilteredDCG"},
}


class Loss(NamedTuple):
    """A loss of a peer with the name and settings of ours."""

    library: str
    name: str
    ours: str
    settings: tuple[tuple[str, str], ...] = ()
    metric: str = METRIC
    binary: bool = False

    @property
    def short(self) -> str:
        """Its name without parameters."""
        return self.name.partition(":metric")[0]

    def systems(self) -> list[System]:
        """Return the peer, ours with default trees, and ours with trees like the peer's."""
        theirs = COMPARABLE[self.library] | STOPS_BY[self.library, self.metric]
        return [
            System(label, use, (settings,), metric=self.metric, binary=self.binary)
            for label, use, settings in (
                (f"{self.library} {self.name}", f"{self.library.lower()}:{self.name}", theirs),
                (self.ours, self.ours, OURS | dict(self.settings)),
                (
                    f"{self.ours}, trees like {self.library}'s",
                    self.ours,
                    LIKE[self.library] | dict(self.settings),
                ),
            )
        ]


LOSSES = (
    Loss("LightGBM", "lambdarank", "lambdamart"),
    Loss("LightGBM", "rank_xendcg", "xendcg"),
    Loss("LightGBM", "regression", "mart"),
    Loss("XGBoost", "rank:ndcg", "lambdamart"),
    Loss("XGBoost", "rank:map", "lambdamart", (("metric", "map"),), binary=True),
    Loss("XGBoost", "rank:pairwise", "pairlogit"),
    Loss("CatBoost", "QueryRMSE", "queryrmse"),
    Loss("CatBoost", "QuerySoftMax", "querysoftmax"),
    Loss("CatBoost", "CrossEntropy", "querycrossentropy", binary=True),
    Loss("CatBoost", "GroupQuantile", "groupquantile"),
    Loss("CatBoost", "YetiRank", "yetirank"),
    Loss("CatBoost", "YetiRankPairwise", "yetirank"),
    Loss("CatBoost", "PairLogit", "pairlogit"),
    Loss("CatBoost", "PairLogitPairwise", "pairlogit"),
    Loss("CatBoost", "LambdaMart:metric=NDCG;type=Exp", "lambdamart"),
    Loss("CatBoost", "StochasticRank:metric=NDCG;type=Exp", "stochasticrank"),
    Loss(
        "CatBoost",
        "StochasticFilter",
        "stochasticfilter",
        metric="filtered-dcg",
    ),
)


def run(report: Report, args: argparse.Namespace) -> None:
    """Measure all losses, or those of ``--losses``, and print them."""
    report.note(NOTES[args.collections])
    report.note(
        f"losses: {n_folds(args)} of {N_FOLDS} folds; training ends after {PATIENCE} trees "
        "without a better value on the validation part. Differences are ours minus the peer, with "
        "their standard errors and the numbers of divisions into folds."
    )
    given = chosen_collections(args)
    losses = [loss for loss in LOSSES if not args.losses or loss.short in args.losses]
    found: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
    for name, data in given.items():
        for loss in losses:
            systems = loss.systems()
            seeds = stored_seeds(name, systems, args) if args.stored else args.seeds
            values = {s.label: measure(name, data, s, args, seeds) for s in systems if seeds}
            if values:
                found[name, systems[0].label] = seeds, values
    show(report, losses, [name for name in given if any(name in key for key in found)], found)


def show(
    report: Report,
    losses: list[Loss],
    names: list[str],
    found: dict[tuple[str, str], tuple[int, dict[str, Any]]],
) -> None:
    """Print differences per collection and their means, and the means of all systems."""
    means, pooled, differences, p_values = [], [], [], []
    for loss in losses:
        peer, *ours = (system.label for system in loss.systems())
        metric = loss.metric + (", binary" if loss.binary else "")
        cells = [found.get((name, peer)) for name in names]
        for label in (peer, *ours):
            of_label = [f"{np.nanmean(cell[1][label]):.4f}" if cell else "" for cell in cells]
            means.append([peer, label, metric, *of_label])
        for label in ours:
            texts, found_means, errors = [], [], []
            for cell in cells:
                if cell is None:
                    texts.append("")
                    continue
                difference = cell[1][label] - cell[1][peer]
                difference = difference[np.isfinite(difference)]
                error = difference.std(ddof=1) / math.sqrt(len(difference))
                texts.append(f"{difference.mean():+.4f} ({error:.4f}; {cell[0]})")
                found_means.append(difference.mean())
                errors.append(error)
            if not errors:
                continue
            mean, error = np.mean(found_means), math.hypot(*errors) / len(errors)
            ratio = mean / max(error, 1e-12)
            p_values.append(math.erfc(abs(ratio) / math.sqrt(2)))
            ahead = f"{sum(m > 0 for m in found_means)} of {len(errors)}"
            pooled.append(
                [peer, label, metric, ahead, f"{mean:+.4f}", f"{error:.4f}", f"{ratio:+.1f}"]
            )
            differences.append([peer, label, *texts])
    corrected = holm(np.array(p_values)).tolist()
    report.table(
        ["peer", "ours", "metric", "ours ahead", "ours - peer", "se", "in se", "p", "Holm"],
        [
            [*text, f"{p:.3f}", f"{h:.3f}"]
            for text, p, h in zip(pooled, p_values, corrected, strict=True)
        ],
        caption="Losses: mean of the collections",
    )
    report.table(["peer", "ours", *names], differences, caption="Losses: ours - peer")
    report.table(["peer", "system", "metric", *names], means, caption="Losses: means")
