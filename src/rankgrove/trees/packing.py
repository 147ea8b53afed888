"""Serialisation of grown trees to concatenated arrays, as in a model file, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.trees.category_sets import SET_TYPES, CategorySets
from rankgrove.trees.ensemble import NODE_TYPES, count_type, tree_sets
from rankgrove.trees.growing import Tree

_OFFSETS = "tree_offsets"
_SETS = "category_sets/"


def pack_trees(trees: Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the concatenated node arrays of all trees by name, and the offsets of the trees.

    Sets of categories are there if a tree has some.
    """
    offsets = np.cumsum([0, *(tree.n_nodes for tree in trees)], dtype=np.int64)
    types = {name: grown for name, (*_, grown) in NODE_TYPES.items()}
    types["count"] = count_type(trees)
    arrays = {
        name: np.concatenate(
            [np.empty(0, dtype), *(getattr(tree, name) for tree in trees)],
            dtype=dtype,
            casting="unsafe",
        )
        for name, dtype in types.items()
    }
    sets = CategorySets.joined((tree.n_nodes, tree_sets(tree)) for tree in trees)
    named = {} if sets is None else {_SETS + name: array for name, array in sets.arrays().items()}
    return {_OFFSETS: offsets, **arrays, **named}


def unpack_trees(arrays: Mapping[str, npt.NDArray[Any]]) -> list[Tree]:
    """Build trees from the arrays of ``pack_trees``; ValueError or KeyError if they are invalid."""
    bounds = np.asarray(arrays[_OFFSETS], np.int64)[1:-1]
    types = {name: grown for name, (*_, grown) in NODE_TYPES.items()} | {"count": np.int64}
    nodes = {
        name: np.split(np.ascontiguousarray(arrays[name], dtype), bounds)
        for name, dtype in types.items()
    }
    n_trees = len(arrays[_OFFSETS]) - 1
    sets = _unpacked_sets(arrays, bounds, n_trees)
    return [
        Tree(**{name: nodes[name][i] for name in nodes}, category_sets=sets[i])
        for i in range(n_trees)
    ]


def _unpacked_sets(
    arrays: Mapping[str, npt.NDArray[Any]], bounds: npt.NDArray[np.int64], n_trees: int
) -> list[Any]:
    """Return the arrays of each tree's sets of categories, as the native tree takes them."""
    if f"{_SETS}of_node" not in arrays:
        return [None] * n_trees
    of_node, offsets, words = (
        np.ascontiguousarray(arrays[_SETS + name], dtype) for name, dtype in SET_TYPES.items()
    )
    whole = [CategorySets(part, offsets, words) for part in np.split(of_node, bounds)]
    if len(of_node) and not -1 <= of_node.min() <= of_node.max() < len(offsets) - 1:
        raise ValueError("a node has a set of categories that is not there")
    return [
        tuple(part.without_unused().arrays().values()) if (part.of_node >= 0).any() else None
        for part in whole
    ]
