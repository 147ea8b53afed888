"""A node that has too many thresholds or documents to try all features at once tries them in
batches: the best split is the best of those that its features would give alone."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.rankers.base.registry import make_ranker


def first_split(X, y, sizes):
    ranker = make_ranker(
        "rf-list",
        n_estimators=1,
        subsample=1.0,
        max_features="all",
        min_samples_leaf=1,
        max_depth=1,
        max_bins=4096,
        random_state=0,
        n_jobs=1,
    )
    trees = ranker.fit(X, y, group_sizes=sizes).model_.ensemble
    return int(trees.feature[0]), float(trees.threshold[0]), float(trees.gain[0])


@pytest.mark.slow
@pytest.mark.parametrize("best", [0, 3, 7])
@pytest.mark.parametrize(
    ("n_queries", "n_values"),
    [
        pytest.param(60, 600, id="many thresholds"),
        pytest.param(14_000, 12, id="many documents"),
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_batches_of_features_find_the_best_split(n_queries, n_values, best, missing):
    rng = np.random.default_rng(best)
    sizes = np.full(n_queries, 10)
    n = int(sizes.sum())
    y = rng.integers(0, 3, n)
    X = rng.integers(0, n_values, (n, 8)).astype(np.float32)
    X[:, best] = np.clip(X[:, best] + y * n_values / 6, 0, n_values).round()
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    alone = [first_split(X[:, [i]], y, sizes) for i in range(8)]
    feature, threshold, gain = first_split(X, y, sizes)
    assert feature == best
    assert gain == pytest.approx(max(split[2] for split in alone), rel=1e-6)
    assert threshold == alone[best][1]
