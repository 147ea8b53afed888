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
# Others, added for the second study of defaults, which decided with all of them.
PRESETS = {
    "synthetic, letor4 shape": {"n_queries": 400, "preset": "letor4"},
    "synthetic, yahoo shape": {"n_queries": 120, "preset": "yahoo"},
    "synthetic, mslr shape": {"n_queries": 120, "preset": "mslr"},
}


def more_synthetic() -> dict[str, Any]:
    """Return four more: shapes of public collections, and one that is no simulated search."""
    found = {name: make_ranking(**shape, seed=29) for name, shape in PRESETS.items()}
    return found | {"synthetic, interactions": interactions()}


def wide(seeds: tuple[int, ...] = (29, 301, 302, 303)) -> dict[str, Any]:
    """Return collections of 519 features and 120 queries: the yahoo shape with several seeds."""
    return {
        f"synthetic, yahoo shape, seed {seed}": make_ranking(120, preset="yahoo", seed=seed)
        for seed in seeds
    }


def interactions(n_queries: int = 300, size: int = 20, seed: int = 29) -> Any:
    """Return documents whose relevance is a product, a case distinction and a sine of features.

    Friedman's first function, in which features 6 and 7 change their signs by the side of
    feature 8, with noise and a level of each query; grades are fifths of a query.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_queries * size, 12))
    utility = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    utility += 10 * X[:, 3] + 5 * X[:, 4]
    utility += np.where(X[:, 8] > 0.6, 6, -6) * (X[:, 6] - X[:, 7])
    utility += rng.normal(0, 4, len(X))
    order = utility.reshape(n_queries, size).argsort(axis=1).argsort(axis=1)
    X += np.repeat(rng.normal(0, 0.1, (n_queries, 12)), size, axis=0)
    y = (order * 5 // size).ravel()
    return rankgrove.load(X, y, qid=np.repeat(np.arange(n_queries), size))


def real_collections(folder: Path = DATA) -> dict[str, Any]:
    """Return the real collections that are there, by name: folders of folds, or data to divide."""
    web, example = folder / "mslr-web10k-sample", folder / "lightgbm-lambdarank"
    makers = {
        "MQ2008": (folder / "mq2008", str),
        "OHSUMED": (folder / "ohsumed" / "QueryLevelNorm", str),
        "OHSUMED, raw": (folder / "ohsumed" / "Feature-null", str),
        "WEB10K sample": (web, _web10k_sample),
        "LightGBM example": (example, _lightgbm_example),
        "F1 since 2000": (folder / "f1" / "f1_races.csv.gz", f1_races),
    }
    return {name: make(path) for name, (path, make) in makers.items() if path.exists()}


def collections(folder: Path = DATA) -> dict[str, Any]:
    """Return the real collections and the first two synthetic ones, by name."""
    return real_collections(folder) | {
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


def f1_races(path: Path, first: int = 2000, last: int = 2100) -> Any:
    """Races as queries, numbers known before the start as features, grades by finishing place."""
    import pandas

    races = pandas.read_csv(path)
    races = races[races["year"].between(first, last)]
    known = [
        *("grid", "qualifying", "practice1", "standing_before", "points_before"),
        *("constructor_points_before", "starts_before"),
    ]
    grade = np.digitize(races["finish_order"], [1.5, 3.5, 6.5, 10.5])
    features = races[known].apply(pandas.to_numeric, errors="coerce")
    return rankgrove.load(features, 4 - grade, qid=races["race"].to_numpy())
