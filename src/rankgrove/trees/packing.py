"""Serialisation of grown trees to concatenated arrays, as in a model file, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.trees.ensemble import NODE_TYPES
from rankgrove.trees.growing import Tree

_OFFSETS = "tree_offsets"


def pack_trees(trees: Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the concatenated node arrays of all trees by name, and the offsets of the trees."""
    offsets = np.cumsum([0, *(tree.n_nodes for tree in trees)], dtype=np.int64)
    arrays = {
        name: np.concatenate([np.empty(0, grown), *(getattr(tree, name) for tree in trees)])
        for name, (*_, grown) in NODE_TYPES.items()
    }
    return {_OFFSETS: offsets, **arrays}


def unpack_trees(arrays: Mapping[str, npt.NDArray[Any]]) -> list[Tree]:
    """Build trees from the arrays of ``pack_trees``; ValueError or KeyError if they are invalid."""
    bounds = np.asarray(arrays[_OFFSETS], np.int64)[1:-1]
    nodes = {
        name: np.split(np.ascontiguousarray(arrays[name], grown), bounds)
        for name, (*_, grown) in NODE_TYPES.items()
    }
    n_trees = len(arrays[_OFFSETS]) - 1
    return [Tree(**{name: nodes[name][i] for name in nodes}) for i in range(n_trees)]
