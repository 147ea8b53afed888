"""Small nodes of random thresholds are split as bits of words, to the trees of the general way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankgrove import make_ranker
from rankgrove.datasets import make_ranking

ARRAYS = ("feature", "threshold", "left", "missing_left", "value", "count", "gain")
# Trees whose number of leaves is limited are not grown so, even if they never reach the limit.
NO_LIMIT_IN_EFFECT = 10**6


def grown(name: str, X: Any, y: Any, sizes: Any, **params: Any) -> dict[str, Any]:
    ranker = make_ranker(
        name, **{"n_estimators": 2, "min_samples_leaf": 1, "random_state": 5, **params}
    )
    trees = ranker.fit(X, y, group_sizes=sizes).model_.ensemble
    return {field: getattr(trees, field) for field in ARRAYS}


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("extra-trees", {}),
        ("extra-trees", {"max_features": 1}),
        ("extra-trees", {"max_features": "all", "min_samples_leaf": 3}),
        ("extra-trees", {"max_depth": 9, "min_samples_split": 7, "redraw": False}),
        ("extra-trees", {"node_order": "depth-first"}),
        ("extra-trees", {"node_order": "biggest-first", "min_gain": 1e-5}),
        ("rf-rand", {}),
        ("rf-rand", {"min_samples_leaf": 4}),
    ],
)
@pytest.mark.parametrize("n_features", [9, 136])
def test_trees_are_those_of_the_general_way(name, params, n_features):
    data = make_ranking(60, preset="mslr", seed=4)
    X = np.array(data.X)[:, :n_features]
    X[np.random.default_rng(0).random(X.shape) < 0.03] = np.nan
    small = grown(name, X, data.y, data.group_sizes, **params)
    general = grown(name, X, data.y, data.group_sizes, max_leaf_nodes=NO_LIMIT_IN_EFFECT, **params)
    for field in ARRAYS:
        np.testing.assert_array_equal(small[field], general[field], err_msg=field)


def test_nodes_that_are_too_large_for_a_block_are_split_in_the_general_way():
    data = make_ranking(640, preset="mslr", seed=4)
    X, y, sizes = np.array(data.X)[:, :5], data.y, data.group_sizes
    assert len(X) > 65536
    small = grown("extra-trees", X, y, sizes, n_estimators=1)
    general = grown("extra-trees", X, y, sizes, n_estimators=1, max_leaf_nodes=NO_LIMIT_IN_EFFECT)
    for field in ARRAYS:
        np.testing.assert_array_equal(small[field], general[field], err_msg=field)
