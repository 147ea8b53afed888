"""How much PLRank saves by storing equal contexts once, beside table 3 of Xia, Zhai and Wang."""

from __future__ import annotations

import argparse
from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import numpy as np

from _report import Report
from papers.collections import COLLECTIONS
from rankgrove.boosting.objectives.base import TrainingData
from rankgrove.boosting.objectives.plrank import PlackettLuceLikelihood
from rankgrove.data.core.dataset import concatenate

K = 10
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
            likelihood = PlackettLuceLikelihood(training, K, n, keep_equal=True)
            shares.append(likelihood.compression)
        lines.append([str(n), *(f"{share:.4f}" for share in (*shares, *paper))])
    report.table(
        ["permutations", *names, "paper: Yahoo", "paper: Microsoft 30K"],
        lines,
        caption="Contexts stored, as a share of all",
    )
    _readings(report, data["WEB10K sample"])


def _readings(report: Report, dataset: Any) -> None:
    """Compare readings of the paper on a sample of the data of its last column."""
    y = dataset.groups.grouped(np.asarray(dataset.y, np.float64))
    offsets = dataset.groups.offsets
    queries = [y[a:b] for a, b in pairwise(offsets) if b > a]
    lines = []
    for n, (_, paper) in PAPER.items():
        readings = [
            np.array([_distinct(query, n, **reading) for query in queries])
            for reading in ({}, {"behind": 1}, {"ordered": True})
        ]
        shares = [counts[:, 0].sum() / counts[:, 1].sum() for counts in readings]
        errors = map(_standard_error, readings)
        values = [f"{share:.4f} ± {error:.4f}" for share, error in zip(shares, errors, strict=True)]
        lines.append([str(n), *values, f"{paper:.4f}"])
    report.table(
        [
            "permutations",
            "equal sets",
            "equal sets, also behind the tenth place",
            "equal ordered prefixes",
            "paper: Microsoft 30K",
        ],
        lines,
        caption="WEB10K sample: what may be stored once",
    )
    report.note(
        "± is the standard error of a ratio over queries. All shares are of ten contexts per "
        "permutation. If the set behind the tenth position is counted as well, the shares of "
        "equal sets are within one standard error of the paper's at every number of permutations. "
        "The shares of ordered prefixes decrease too slowly."
    )


def _distinct(labels: Any, n: int, *, ordered: bool = False, behind: int = 0) -> tuple[int, int]:
    """Return the numbers of different and of all contexts of n permutations.

    ``behind``: so many contexts behind the last place are counted among the different ones.
    """
    rng = np.random.default_rng(0)
    depth, seen, size = min(K, len(labels)), set[Hashable](), len(labels)
    for _ in range(n):
        order = rng.permutation(size)
        order = order[np.argsort(-labels[order], kind="stable")]
        for place in range(min(depth + behind, size)):
            before = order[:place].tolist()
            seen.add((place, tuple(before) if ordered else frozenset(before)))
    return len(seen), n * depth


def _standard_error(counts: Any) -> float:
    """Of the ratio of two sums over queries."""
    ratio = counts[:, 0].sum() / counts[:, 1].sum()
    residuals = counts[:, 0] - ratio * counts[:, 1]
    return float(np.sqrt((residuals**2).sum()) / counts[:, 1].sum())
