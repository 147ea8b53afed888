"""Exact Shapley values of trees, by the native kernels.

The values are those of path-dependent TreeSHAP (Lundberg et al. 2020), which LightGBM's
``pred_contrib`` and shap's ``tree_path_dependent`` compute as well: a feature that is not known
sends a document down both sides of a split, in proportion to the training documents there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.errors import ModelError
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.precise import as_compared

Floats = npt.NDArray[np.float64]
Float32s = npt.NDArray[np.float32]


def shapley_values(
    trees: TreeEnsemble,
    X: npt.NDArray[Any],
    fill: Float32s | None = None,
    missing_up_to: Float32s | None = None,
    *,
    n_jobs: int | None = None,
) -> Floats:
    """Return what each feature adds to each output of each row.

    Parameters
    ----------
    trees : the ensemble; its counts of training documents are the background distribution
    X : floating-point matrix with the features of the ensemble, in any layout
    fill, missing_up_to : what counts as missing and what replaces it, as in ``Scorer``
    n_jobs : threads; the values are the same bits for any number

    Returns
    -------
    array of shape (rows, outputs, features): with ``expected_outputs``, they add up to the outputs
    """
    effects = np.zeros((len(X), trees.n_outputs, trees.n_features))
    _add(trees, X, fill, missing_up_to, n_jobs, effects, pairs=False)
    return effects


def shapley_interactions(
    trees: TreeEnsemble,
    X: npt.NDArray[Any],
    fill: Float32s | None = None,
    missing_up_to: Float32s | None = None,
    *,
    n_jobs: int | None = None,
) -> Floats:
    """Return what each pair of features adds to each output of each row, as shap divides it.

    Returns
    -------
    array of shape (rows, outputs, features, features), symmetric in the features. Off the diagonal
    is half of what a pair adds beyond its members; each line adds up to the feature's Shapley value
    """
    effects = np.zeros((len(X), trees.n_outputs, trees.n_features, trees.n_features))
    _add(trees, X, fill, missing_up_to, n_jobs, effects, pairs=True)
    return effects


def expected_outputs(trees: TreeEnsemble) -> Floats:
    """Return the mean of each output over the training documents that the trees have counted."""
    _check_counts(trees)
    return _native.expected_scores(trees)


def _add(
    trees: TreeEnsemble,
    X: npt.NDArray[Any],
    fill: Float32s | None,
    missing_up_to: Float32s | None,
    n_jobs: int | None,
    effects: Floats,
    *,
    pairs: bool,
) -> None:
    _check_counts(trees)
    trees, X, fill, missing_up_to = as_compared(trees, X, fill, missing_up_to)
    nothing = np.empty(0, np.float32)
    _native.add_shapley_values(
        trees,
        nothing if fill is None else np.ascontiguousarray(fill, np.float32),
        nothing if missing_up_to is None else np.ascontiguousarray(missing_up_to, np.float32),
        X,
        resolve_n_jobs(n_jobs),
        effects.reshape(-1),
        pairs,
    )


def _check_counts(trees: TreeEnsemble) -> None:
    roots = trees.tree_offsets[:-1]
    unknown = np.flatnonzero((trees.count[roots] == 0) & (trees.left[roots] >= 0))
    if len(unknown):
        raise ModelError(
            f"tree {unknown[0] + 1} does not tell how many training documents its splits saw, so "
            "contributions cannot be computed (the model file it was imported from has no counts)"
        )
