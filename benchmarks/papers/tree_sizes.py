"""How large the trees of RF-point and RF-list grow, beside table XII of Ibrahim and Carman."""

from __future__ import annotations

import argparse
from typing import Any

from _report import Report
from papers.collections import COLLECTIONS
from rankgrove import Dataset, make_ranker
from rankgrove.data.core.dataset import concatenate

# Leaves, documents in a leaf and score of a leaf, on 300 queries of MSLR-WEB10K.
PAPER = {"rf-point": (11770, 3.09, 0.925), "rf-list": (6190, 6.36, 1.003)}
# Gains that a split must exceed: any; Weka's; Weka's for a mean over 111 queries in place of 300.
LEAST_GAINS = (0.0, 1e-6, 2.7e-6, 1e-5)


def tree_sizes(report: Report, arguments: argparse.Namespace) -> None:
    """Grow single trees on all 111 queries of the sample of WEB10K."""
    data = concatenate(list(COLLECTIONS["WEB10K sample"].folds[0]))
    point = _sizes(data, "rf-point", arguments)
    lines = [
        _line("rf-point, paper", PAPER["rf-point"], PAPER["rf-point"]),
        _line("rf-list, paper", PAPER["rf-list"], PAPER["rf-point"]),
        _line("rf-point", point, point),
    ]
    for gain in LEAST_GAINS:
        sizes = _sizes(data, "rf-list", arguments, min_gain=gain)
        lines.append(_line(f"rf-list, min_gain={gain:g}", sizes, point))
    report.table(
        ["", "leaves", "against RF-point", "documents in a leaf", "score of a leaf"],
        lines,
        caption="Means of four trees on all 111 queries",
    )


def _sizes(
    data: Dataset, ranker: str, arguments: argparse.Namespace, **params: Any
) -> tuple[float, float, float]:
    forest = make_ranker(
        ranker, n_estimators=4, subsample=1.0, random_state=0, n_jobs=arguments.threads, **params
    )
    means = forest.fit(data).tree_statistics().means()
    return means["n_leaves"], means["leaf_size"], means["leaf_score"]


def _line(
    label: str, sizes: tuple[float, float, float], point: tuple[float, float, float]
) -> list[str]:
    leaves, size, score = sizes
    return [label, f"{leaves:.0f}", f"{leaves / point[0]:.2f}", f"{size:.2f}", f"{score:.3f}"]
