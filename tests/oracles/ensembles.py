"""Random tree ensembles of every shape, and rows that hit their edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankgrove.trees.category_sets import CategorySets
from rankgrove.trees.ensemble import TreeEnsemble


def random_tree(
    rng: np.random.Generator, n_leaves: int, n_features: int, shape: str, thresholds: np.ndarray
) -> dict[str, list]:
    """Grow one tree: `random` splits any leaf, `chain` the newest one, `oblivious` whole levels."""
    tree: dict[str, list] = {
        "feature": [-1],
        "threshold": [0.0],
        "left": [-1],
        "missing_left": [0],
        "value": [rng.normal()],
    }

    def split(node: int, feature: int, threshold: float, missing_left: int) -> tuple[int, int]:
        left = len(tree["feature"])
        tree["feature"][node] = feature
        tree["threshold"][node] = threshold
        tree["missing_left"][node] = missing_left
        tree["left"][node] = left
        for _ in range(2):
            tree["feature"].append(-1)
            tree["threshold"].append(0.0)
            tree["left"].append(-1)
            tree["missing_left"].append(0)
            tree["value"].append(rng.normal())
        return left, left + 1

    def rule() -> tuple[int, float, int]:
        return int(rng.integers(n_features)), float(rng.choice(thresholds)), int(rng.integers(2))

    leaves = [0]
    if shape == "oblivious":
        for _ in range(max(0, n_leaves - 1).bit_length()):
            level = rule()
            leaves = [child for node in leaves for child in split(node, *level)]
    else:
        while len(leaves) < n_leaves:
            position = len(leaves) - 1 if shape == "chain" else int(rng.integers(len(leaves)))
            children = split(leaves.pop(position), *rule())
            leaves.extend(children if rng.integers(2) else children[::-1])
    return tree


def random_ensemble(
    seed: int,
    n_trees: int = 5,
    n_leaves: int = 8,
    n_features: int = 4,
    shape: str = "random",
    n_outputs: int = 1,
    n_thresholds: int = 20,
) -> TreeEnsemble:
    rng = np.random.default_rng(seed)
    thresholds = np.r_[0.0, np.inf, 3.4e38, rng.normal(size=n_thresholds)].astype(np.float32)
    trees = [
        random_tree(rng, n_leaves, n_features, shape, thresholds)
        if n_features
        else random_tree(rng, 1, 1, shape, thresholds)
        for _ in range(n_trees)
    ]
    sizes = [len(tree["feature"]) for tree in trees]
    n_nodes = sum(sizes)

    def joined(name: str, dtype: type) -> np.ndarray:
        return np.array([x for tree in trees for x in tree[name]], dtype)

    return TreeEnsemble(
        n_features=n_features,
        tree_offsets=np.r_[0, np.cumsum(sizes)].astype(np.int64),
        tree_weights=rng.normal(size=n_trees),
        tree_outputs=rng.integers(n_outputs, size=n_trees).astype(np.int32),
        base_score=rng.normal(size=n_outputs),
        feature=joined("feature", np.int32),
        threshold=joined("threshold", np.float32),
        left=joined("left", np.int32),
        missing_left=joined("missing_left", np.uint8),
        value=joined("value", np.float64),
        count=np.ones(n_nodes, np.uint32),
        gain=np.zeros(n_nodes, np.float32),
    )


def with_sets(ensemble: TreeEnsemble, seed: int, n_categories: int) -> TreeEnsemble:
    """Make every other feature categorical: equal conditions become equal sets of categories."""
    rng = np.random.default_rng(seed)
    drawn: dict[tuple[int, float], list[int]] = {}
    codes: list[list[int] | None] = []
    for feature, threshold in zip(ensemble.feature, ensemble.threshold, strict=True):
        if feature < 0 or feature % 2:
            codes.append(None)
            continue
        size = int(rng.integers(min(n_categories, 40) + 1))
        some = rng.choice(n_categories, size, replace=False).tolist()
        codes.append(drawn.setdefault((int(feature), float(threshold)), some))
    sets = CategorySets.of_codes(codes)
    threshold = np.where(sets.of_node >= 0, np.float32(0), ensemble.threshold)
    return replace(ensemble, category_sets=sets, threshold=threshold)


def rows_with_codes(
    ensemble: TreeEnsemble, n_rows: int, seed: int, n_categories: int
) -> np.ndarray:
    """Rows as of ``rows_for``, with codes and things that are none in categorical columns."""
    rng = np.random.default_rng(seed)
    X = rows_for(ensemble, n_rows, seed)
    edges = np.array([np.nan, np.inf, -np.inf, -0.0, -1, 0.5, 2**24, 3e9], np.float32)
    columns = ensemble.categorical_features
    shape = (n_rows, len(columns))
    codes = rng.integers(n_categories + 40, size=shape).astype(np.float32)
    X[:, columns] = np.where(rng.random(shape) < 0.2, rng.choice(edges, shape), codes)
    return X


def rows_for(ensemble: TreeEnsemble, n_rows: int, seed: int) -> np.ndarray:
    """float32 rows with values on thresholds, just beside them, NaN, infinities and zeros."""
    rng = np.random.default_rng(seed)
    inner = ensemble.threshold[ensemble.feature >= 0]
    on = inner if len(inner) else np.zeros(1, np.float32)
    with np.errstate(over="ignore"):
        pool = np.r_[
            on,
            np.nextafter(on, np.float32(np.inf)),
            np.nextafter(on, np.float32(-np.inf)),
            rng.normal(size=20).astype(np.float32),
        ]
    edges = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
    shape = (n_rows, ensemble.n_features)
    return np.where(rng.random(shape) < 0.15, rng.choice(edges, shape), rng.choice(pool, shape))
