"""The collections themselves, beside the papers' tables of their data."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from _report import Report
from papers.collections import COLLECTIONS
from rankgrove.data.core.dataset import concatenate

# Queries, those that train, documents, those that train, features, and documents of a query by
# label: table IV of Ibrahim and Carman. Modry and Ferov (table 1) have the same of WEB10K.
PAPER: dict[str, tuple[Any, ...]] = {
    "MQ2008": (784, 470, 15_211, 9_630, 46, "15/2.5/1"),
    "OHSUMED": (106, 63, 16_000, 9_684, 45, "106/24/21"),
    "WEB10K sample": (10_000, 6_000, 1_200_192, 723_412, 136, "42/39/16/2/0.9"),
}
_TITLES = (
    "queries",
    "queries of Fold1's training part",
    "documents",
    "documents of Fold1's training part",
    "features",
    "documents of a query by label",
)


def statistics(report: Report, arguments: argparse.Namespace) -> None:
    """Print what table IV of Ibrahim and Carman has, and table 1 of Modry and Ferov."""
    lines = []
    for name, paper in PAPER.items():
        if not COLLECTIONS[name].is_there or (arguments.only and name not in arguments.only):
            continue
        fold = COLLECTIONS[name].folds[0]
        data = concatenate(list(fold))
        sizes, grades = data.groups.sizes, np.bincount(np.asarray(data.y, np.int64))
        ours = (
            data.n_queries,
            fold.train.n_queries,
            data.n_rows,
            fold.train.n_rows,
            data.n_features,
            "/".join(f"{count / data.n_queries:.3g}" for count in grades),
        )
        lines.append([name, *map(str, ours), *_of_queries(sizes)])
        whose = "paper, all of WEB10K" if "sample" in name else "paper"
        spread = ("120.02", "110", "908", "1") if "sample" in name else ("-",) * 4
        lines.append([f"  {whose}", *map(str, paper), *spread])
    columns = ["", *_TITLES, *(f"documents of a query: {w}" for w in ("mean", "median", "most"))]
    report.table([*columns, "least"], lines, caption="The collections")
    report.note(
        "The paper's figures: Ibrahim and Carman, table IV, and for the documents of a query Modry "
        "and Ferov, table 1. Table 2 of Mohan, Chen and Weinberger (five folds of WEB10K, Yahoo) "
        "and table 2 of Xia, Zhai and Wang (Microsoft 30K, Yahoo) are of data that are not here; "
        "of OHSUMED the latter has 106 queries, 16 K documents and 45 features."
    )


def _of_queries(sizes: Any) -> list[str]:
    return [f"{sizes.mean():.2f}", f"{np.median(sizes):g}", str(sizes.max()), str(sizes.min())]
