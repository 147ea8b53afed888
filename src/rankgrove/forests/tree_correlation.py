"""Strength and correlation of the trees of a forest: the two components of its error (Breiman)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.metrics.parsing import metric as as_metric
from rankgrove.models.model import Model
from rankgrove.models.trees import TreesModel

Floats = npt.NDArray[np.float64]

_BLOCK_ROWS = 1 << 14


@dataclass(frozen=True)
class TreeCorrelation:
    """What single trees of a forest are worth, and how much their errors have in common.

    Attributes
    ----------
    strength : mean over the trees of the metric of a single tree
    correlation : weighted correlation of the residuals of two trees,
        sum over pairs of cov(t, u) / sum over pairs of sd(t) sd(u) (Breiman 2001, section 11)
    tree_error, forest_error : mean squared error of a single tree, on average, and of the mean of
        all trees; for unbiased trees the latter is at most correlation x tree_error
    """

    strength: float
    correlation: float
    tree_error: float
    forest_error: float


def tree_correlation(
    model: Model, data: RankingInput, metric: str, n_jobs: int | None
) -> TreeCorrelation:
    """Measure the trees of a forest one by one on any data."""
    if not isinstance(model, TreesModel) or model.ensemble.n_outputs != 1:
        raise model.refusal("have its trees compared", "its trees do not answer with labels each")
    if model.ensemble.n_trees < 2:
        raise ValueError("a correlation of trees needs at least 2 of them")
    predicted = _tree_predictions(model, data, n_jobs)
    prepared = as_metric(metric).prepare(data.y, data.filled_offsets, n_jobs=n_jobs)
    strength = np.mean([prepared(np.ascontiguousarray(tree)) for tree in predicted.T])
    residuals = predicted - data.y[:, None]
    centred = residuals - residuals.mean(axis=0)
    variances = np.mean(centred**2, axis=0)
    of_pairs = np.mean(centred.sum(axis=1) ** 2) - variances.sum()  # twice the sum over pairs
    deviations = np.sqrt(variances)
    products = deviations.sum() ** 2 - variances.sum()
    return TreeCorrelation(
        strength=float(strength),
        correlation=float(of_pairs / products) if products > 0 else float("nan"),
        tree_error=float(np.mean(residuals**2)),
        forest_error=float(np.mean(residuals.mean(axis=1) ** 2)),
    )


def _tree_predictions(model: TreesModel, data: RankingInput, n_jobs: int | None) -> Floats:
    """Return the answer of each tree for each document, in grouped order."""
    trees = model.ensemble
    leaves = data.groups.grouped(replace(model, ensemble=trees).leaves(data.X, n_jobs))
    values = np.empty(leaves.shape)
    for begin in range(0, len(leaves), _BLOCK_ROWS):
        rows = slice(begin, begin + _BLOCK_ROWS)
        values[rows] = trees.value[trees.tree_offsets[:-1] + leaves[rows]]
    return values
