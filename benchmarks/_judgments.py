"""Collections of judgments on which rankers are studied, real and synthetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import rankgrove
from rankgrove.data.core.dataset import concatenate
from rankgrove.datasets import make_ranking

DATA = Path(__file__).parents[2] / "shared" / "data"
# Shapes that the real collections do not have.
SYNTHETIC = {
    "synthetic, 60 long lists": {"n_queries": 60, "docs_per_query": 150, "n_features": 30},
    "synthetic, 800 short lists": {"n_queries": 800, "docs_per_query": 10, "n_features": 15},
}


def collections(folder: Path = DATA) -> dict[str, Any]:
    """Return the collections that are there, by name: folders of folds, or data to be divided."""
    web, example = folder / "mslr-web10k-sample", folder / "lightgbm-lambdarank"
    makers = {
        "MQ2008": (folder / "mq2008", str),
        "OHSUMED": (folder / "ohsumed" / "QueryLevelNorm", str),
        "OHSUMED, raw": (folder / "ohsumed" / "Feature-null", str),
        "WEB10K sample": (web, _web10k_sample),
        "LightGBM example": (example, _lightgbm_example),
        "F1 since 2000": (folder / "f1" / "f1_races.csv.gz", _f1),
    }
    found: dict[str, Any] = {
        name: make(path) for name, (path, make) in makers.items() if path.exists()
    }
    return found | {
        name: make_ranking(
            shape["n_queries"],
            docs_per_query=shape["docs_per_query"],
            n_features=shape["n_features"],
            seed=11,
        )
        for name, shape in SYNTHETIC.items()
    }


def _web10k_sample(folder: Path) -> Any:
    return concatenate(
        [rankgrove.load(path) for path in sorted(folder.glob("*.txt.gz"))], shared_queries="apart"
    )


def _lightgbm_example(folder: Path) -> Any:
    parts = [
        rankgrove.load(folder / f"rank.{part}.gz", n_features=300) for part in ("train", "test")
    ]
    return concatenate(parts, shared_queries="apart")


def _f1(path: Path) -> Any:
    """Races as queries, numbers known before the start as features, grades by finishing place."""
    import pandas

    races = pandas.read_csv(path)
    races = races[races["year"] >= 2000]
    known = [
        *("grid", "qualifying", "practice1", "standing_before", "points_before"),
        *("constructor_points_before", "starts_before"),
    ]
    grade = np.digitize(races["finish_order"], [1.5, 3.5, 6.5, 10.5])
    features = races[known].apply(pandas.to_numeric, errors="coerce")
    return rankgrove.load(features, 4 - grade, qid=races["race"].to_numpy())
