"""Bias and variance of forests and of boosting, which Ibrahim and Carman ask for in section 7.1."""

from __future__ import annotations

import argparse

from _report import Report
from papers.collections import COLLECTIONS, DataFolder
from rankgrove.experiments.curve_studies import run_curve
from rankgrove.experiments.running import Run
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import make_study

_SAMPLES = 5
_SHARE = 0.5


def variance(report: Report, arguments: argparse.Namespace) -> None:
    """Divide the loss of the paper's rankers over samples of half of the training queries."""
    trees = max(2, round(500 * arguments.share))
    rankers = {
        "one tree of RF-point": "rf-point:as_in_paper=own,n_estimators=1",
        "one tree of RF-list": "rf-list:as_in_paper=own,n_estimators=1",
        "RF-point": f"rf-point:as_in_paper=own,n_estimators={trees}",
        "RF-list": f"rf-list:as_in_paper=own,n_estimators={trees}",
        "Mart": "mart:as_in_paper=ibrahim-2016",
        "LambdaMart": "lambdamart:as_in_paper=ibrahim-2016",
    }
    there = [name for name in ("MQ2008", "OHSUMED") if COLLECTIONS[name].is_there]
    for name in arguments.only or there:
        collection = COLLECTIONS[name]
        study = make_study(
            str(DataFolder.path / collection.folder),
            rankers,
            metrics="ndcg@10",
            preset=collection.preset,
            repeats=_SAMPLES,
        )
        quick = ".quick" if arguments.quick else ""
        with Store(arguments.out / f"papers-variance-{name.lower()}{quick}") as store:
            run = Run(n_jobs=arguments.threads)
            curves, lacking = run_curve("variance", study, store, run, [_SHARE])
        if lacking:
            raise SystemExit(f"{name}: {'; '.join(lacking)}")
        found = {curve.name: curve for curve in curves}
        lines = []
        for label in rankers:
            parts = [found[f"{label}: {part}"] for part in ("loss", "bias", "variance")]
            low, high = (ends[0] for ends in parts[2].interval or ([0.0], [0.0]))
            values = [f"{curve.values[0]:.4f}" for curve in parts]
            lines.append([label, *values, f"{low:.4f} to {high:.4f}"])
        columns = ["", "loss", "bias", "variance", "95 % interval of the variance"]
        report.table(columns, lines, caption=f"{name}: NDCG@10, preset {collection.preset}")
    report.note(
        "Loss: difference of a model to the ideal order; bias: that of the mean ranking of "
        f"{_SAMPLES} models; variance: the rest. Each model learns from a random half of the "
        f"training queries of its fold; five folds. Forests of {trees} trees (the paper: 500); all "
        "settings as in the paper, boosting stopped early by validation NDCG@10."
    )
