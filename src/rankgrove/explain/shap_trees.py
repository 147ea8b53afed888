"""Conversion of trees to the form that the shap package reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankgrove.explain.explanation import model_of
from rankgrove.models.trees import TreesModel

_NEXT_TO_NOTHING = 1e-20


def shap_trees(ranker: Any) -> dict[str, Any]:
    """Return a model of trees in the form that ``shap.TreeExplainer`` takes.

    ``shap.TreeExplainer(shap_trees(ranker))`` then has all that shap offers (interventional
    values, plots, ...). Its documents are the model's columns in their order, as float32; NaN is
    missing, and goes where the model sends it.

    Raises
    ------
    ModelError : not a model of trees on documents, or one that takes other values than NaN for
        missing, which shap does not know
    """
    model = model_of(ranker)
    if not isinstance(model, TreesModel):
        raise model.refusal("be handed to shap", "it is not one ensemble of trees on documents")
    if model.missing_up_to is not None and (model.missing_up_to >= 0).any():
        raise model.refusal("be handed to shap", "it takes small values for missing, not only NaN")
    trees = model.without_fill().ensemble
    if trees.category_sets is not None:
        raise model.refusal("be handed to shap", "its splits ask for categories: use explain")
    return {
        "trees": [_tree(trees, number) for number in range(trees.n_trees)],
        "base_offset": trees.base_score[0] if trees.n_outputs == 1 else trees.base_score,
        "input_dtype": np.float32,
        "tree_output": "raw_value",
    }


def _tree(trees: Any, number: int) -> dict[str, Any]:
    nodes = slice(trees.tree_offsets[number], trees.tree_offsets[number + 1])
    left = trees.left[nodes]
    right = np.where(left >= 0, left + 1, -1)
    values = np.zeros((len(left), trees.n_outputs))
    values[:, trees.tree_outputs[number]] = trees.value[nodes] * trees.tree_weights[number]
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(trees.missing_left[nodes] != 0, left, right),
        "features": trees.feature[nodes].astype(np.int32),
        "thresholds": trees.threshold[nodes].astype(np.float64),
        "values": values,
        "node_sample_weight": _weights(left, trees.count[nodes].astype(np.float64)),
    }


def _weights(left: Any, count: Any) -> Any:
    """Return the counts of nodes, where shap takes no 0.

    A node that no training document reached, as oblivious trees have them, weighs next to nothing
    beside its sibling; below it, both sides weigh the same.
    """
    for parent in np.flatnonzero(left >= 0):
        children = count[left[parent] : left[parent] + 2]
        if not children.any():
            children[:] = count[parent] / 2
        elif not children.all():
            children[children == 0] = _NEXT_TO_NOTHING * count[parent]
    return count
