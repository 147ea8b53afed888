"""Draw the comparison on the first page: docs/assets/comparison.svg.

Usage: python tools/readme_picture.py [FILE]
"""

from __future__ import annotations

import sys

import rankgrove
from rankgrove.datasets import make_ranking

RANKERS = (
    "lambdamart:n_estimators=50",
    "rcrank:n_estimators=50",
    "xendcg:n_estimators=50",
    "mart:n_estimators=50",
    "rf-point:n_estimators=50",
    "single-feature",
)


def main(path: str) -> None:
    """Compare rankers on synthetic data and save the picture."""
    data = make_ranking(200, preset="mslr", seed=1)
    comparison = rankgrove.compare(
        {"synthetic data": data},
        list(RANKERS),
        metrics=["ndcg@10"],
        folds=3,
        baseline="lambdamart",
        seed=1,
    )
    print(comparison)
    comparison.plot().save(path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/assets/comparison.svg")
