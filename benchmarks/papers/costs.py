"""What the papers' variants of trees cost beside the usual ones, in CPU seconds of training."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from _report import Report
from papers.collections import COLLECTIONS
from rankgrove import Dataset, make_ranker
from rankgrove.data.core.dataset import concatenate

_TIMES = 3  # the quickest counts
_MISSING = 0.1

WHOLE = {"min_samples_leaf": 1}  # trees of forests grow to the end, as in the papers
# Of each: ranker, what both have, and the first and the second of a pair.
PAIRS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    *(
        ("rf-list", {"n_estimators": 4, **WHOLE}, {"metric": "ndcg"}, {"metric": metric})
        for metric in ("map", "err")
    ),
    *(
        (ranker, {"n_estimators": 40, "max_leaf_nodes": leaves, **WHOLE}, breadth, best)
        for breadth, best in [({"node_order": "breadth-first"}, {"node_order": "best-first"})]
        for ranker, leaves in (("rf", 100), ("rf", 1000), ("rf", None))
    ),
    *(
        (ranker, {"n_estimators": trees, **limits}, {"missing": "keep"}, {"missing": "branch"})
        for ranker, trees, limits in (
            ("gbrt", 50, {}),
            ("gbrt", 50, {"max_leaf_nodes": 16}),
            ("lambdamart", 50, {"tree": "leafwise"}),
            ("rf", 20, WHOLE),
        )
    ),
]


def costs(report: Report, arguments: argparse.Namespace) -> None:
    """Train pairs on the sample of WEB10K; a tenth of the values is missing where that counts."""
    data = concatenate(list(COLLECTIONS["WEB10K sample"].folds[0]))
    X = np.array(data.X)
    X[np.random.default_rng(0).random(X.shape) < _MISSING] = np.nan
    gaps = Dataset(X, data.y, data.qid)
    lines = []
    for ranker, common, *pair in PAIRS:
        used = gaps if "missing" in pair[0] else data
        (usual, its_leaves, its_documents), (variant, leaves, documents) = (
            _cost(ranker, {**common, **params}, used, arguments.threads) for params in pair
        )
        texts = [_text(params) for params in (common, *pair)]
        row = [f"{ranker}, {texts[0]}", texts[1], texts[2], f"{usual:.2f}", f"{variant:.2f}"]
        row += [f"{variant / usual:.2f}", f"{its_leaves:.0f}", f"{leaves:.0f}"]
        lines.append([*row, f"{documents / its_documents:.2f}"])
    columns = ["ranker", "usual", "variant", "usual: CPU s", "variant: CPU s", "ratio"]
    columns += ["usual: leaves per tree", "variant: leaves per tree"]
    report.table(
        [*columns, "ratio of documents"],
        lines,
        caption=f"WEB10K sample, {data.n_rows} documents: CPU seconds of training",
    )
    report.note(
        f"The fastest of {_TIMES} fits, including the search for bins. Ratio of documents: the "
        "documents in all nodes that are searched for splits, of the variant divided by those of "
        "the usual trees. With a limit of depth d, splits into three grow up to 3^d leaves "
        "instead of 2^d, and each node is searched over all bins, even if it has few documents. "
        "With a limit of leaves, best-first growth splits larger nodes, and searches leaves that "
        "are never split; without a limit, both orders grow the same tree."
    )


def _cost(
    ranker: str, params: dict[str, Any], data: Dataset, threads: int
) -> tuple[float, float, float]:
    """Return CPU seconds, leaves per tree, and documents of all nodes that were searched."""
    seconds = []
    for _ in range(_TIMES):
        model = make_ranker(ranker, random_state=0, n_jobs=threads, **params)
        start = time.process_time()
        model.fit(data)
        seconds.append(time.process_time() - start)
    trees = model.model_.ensemble
    # A split into three is written as two; the second gains 0, and was not searched for.
    documents = trees.count[(trees.left >= 0) & (trees.gain > 0)].sum()
    if params.get("node_order") == "best-first" and params["max_leaf_nodes"]:
        documents += trees.count[trees.left < 0].sum()
    return min(seconds), float(np.mean(trees.n_leaves)), float(documents)


def _text(params: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in params.items())
