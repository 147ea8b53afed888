"""How much PLRank saves by storing equal contexts once, beside table 3 of Xia, Zhai and Wang."""

from __future__ import annotations

import argparse

import numpy as np

from _report import Report
from papers.collections import COLLECTIONS
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.plrank import PlackettLuceLikelihood
from rankgrove.data.core.dataset import concatenate

# Contexts stored, as a share of all, by number of permutations: Yahoo!, Microsoft 30K.
PAPER = {
    3: (0.8672, 0.8986),
    6: (0.7586, 0.8069),
    9: (0.6965, 0.7609),
    12: (0.6524, 0.7277),
    15: (0.6197, 0.7026),
    18: (0.5926, 0.6823),
    21: (0.5708, 0.6661),
}


def contexts(report: Report, arguments: argparse.Namespace) -> None:
    """Draw the permutations of every query, ten places each."""
    names = ("WEB10K sample", "MQ2008", "OHSUMED")
    data = {name: concatenate(list(COLLECTIONS[name].folds[0])) for name in names}
    lines = []
    for n, paper in PAPER.items():
        shares = []
        for dataset in data.values():
            y = dataset.groups.grouped(np.asarray(dataset.y, np.float64))
            training = TrainingData(y, dataset.groups.offsets, n_threads=arguments.threads)
            shares.append(PlackettLuceLikelihood(training, 10, n).compression)
        lines.append([str(n), *(f"{share:.4f}" for share in (*shares, *paper))])
    report.table(
        ["permutations", *names, "paper: Yahoo", "paper: Microsoft 30K"],
        lines,
        caption="Contexts stored, as a share of all",
    )
