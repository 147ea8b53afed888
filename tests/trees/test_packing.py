"""One layout of trees: records of steps and model files have the same arrays."""

from __future__ import annotations

import numpy as np

import rankgrove
from rankgrove.datasets import make_ranking
from rankgrove.formats.container import read_container
from rankgrove.trees.ensemble import NODE_TYPES, TreeEnsemble
from rankgrove.trees.growing import Tree
from rankgrove.trees.packing import pack_trees, unpack_trees


def grown():
    """Two trees of different size, as the native grower returns them."""
    leaf = {"feature": [-1], "threshold": [0.0], "left": [-1], "missing_left": [0]}
    split = {
        "feature": [2, -1, -1],
        "threshold": [0.5, 0.0, 0.0],
        "left": [1, -1, -1],
        "missing_left": [1, 0, 0],
    }
    trees = []
    for nodes in (split, leaf):
        n = len(nodes["feature"])
        values = {"value": np.arange(n), "count": np.full(n, 7), "gain": np.arange(n)}
        arrays = {**nodes, **values}
        typed = {name: np.asarray(arrays[name], kinds[-1]) for name, kinds in NODE_TYPES.items()}
        trees.append(Tree(**typed, category_sets=None))
    return trees


def test_trees_come_back_as_they_were():
    trees = grown()
    for one, other in zip(trees, unpack_trees(pack_trees(trees)), strict=True):
        for name in NODE_TYPES:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_no_trees_come_back_as_none():
    assert unpack_trees(pack_trees([])) == []


def test_a_model_file_has_the_arrays_of_a_record(tmp_path):
    path = tmp_path / "model.rg"
    rankgrove.MART(n_estimators=2, random_state=0).fit(make_ranking(8, seed=0)).save(path)
    stored = read_container(path.read_bytes(), str(path))[1]
    in_file = {name.removeprefix("model/trees/"): array for name, array in stored.items()}
    for name, array in pack_trees(grown()).items():
        assert in_file[name].ndim == array.ndim, name
        if name in NODE_TYPES:
            assert in_file[name].dtype in NODE_TYPES[name], name


def test_an_ensemble_of_a_record_is_that_of_the_trees():
    again = unpack_trees(pack_trees(grown()))
    options = {"n_features": 3, "weights": 0.5, "base_score": 0.0}
    one, other = (TreeEnsemble.from_trees(trees, **options) for trees in (grown(), again))
    for name in (*NODE_TYPES, "tree_offsets"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
