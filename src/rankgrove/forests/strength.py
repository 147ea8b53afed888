"""Strength of single trees of a forest as they grow (Ibrahim and Carman 2016, figure 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.metrics.listwise_metric import as_position_metric, listwise_metric
from rankgrove.models.model import Model
from rankgrove.models.trees import TreesModel
from rankgrove.trees.ensemble import TreeEnsemble

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StrengthCurve:
    """The metric of a single tree after each of its splits, averaged over trees.

    Attributes
    ----------
    n_splits : numbers of splits, from 0
    mean : mean over the trees; a tree that has ended keeps its last value
    work : share of a tree's work after this many splits: of the documents of all nodes that are
        split, those of the nodes split so far; mean over the trees
    """

    n_splits: npt.NDArray[np.int64]
    mean: Floats
    work: Floats

    def thinned(self, n_points: int = 300) -> StrengthCurve:
        """Keep about this many points, dense at the start where the curve is steep."""
        last = len(self.mean) - 1
        places = np.unique(np.geomspace(1, last + 1, n_points).astype(np.int64) - 1)
        return StrengthCurve(self.n_splits[places], self.mean[places], self.work[places])


def strength_curve(
    model: Model, data: RankingInput, metric: str, n_trees: int | None, n_jobs: int | None
) -> StrengthCurve:
    """Replay the growth of the trees of a forest, split by split, on any data."""
    if not isinstance(model, TreesModel):
        raise model.refusal("have its trees measured", "they do not rank single documents")
    if n_trees is not None and (not isinstance(n_trees, int | np.integer) or n_trees < 1):
        raise ValueError(f"n_trees must be a whole number of at least 1, not {n_trees!r}")
    trees = model.ensemble
    trees = trees.head(min(n_trees or trees.n_trees, trees.n_trees))
    n_threads = resolve_n_jobs(n_jobs)
    offsets = data.filled_offsets
    prepared = listwise_metric(
        as_position_metric(metric), data.y, data.filled_offsets, data.filled_ids
    )
    leaves = replace(model, ensemble=trees).leaves(data.X, n_jobs)
    leaves = data.groups.grouped(leaves)
    curves = _native.strength_curves(
        trees,
        np.ascontiguousarray(leaves).ravel(),
        offsets,
        prepared.gain,
        prepared.discount,
        prepared.scale,
        prepared.weight,
        n_threads,
    )
    mean = _averaged(curves)
    return StrengthCurve(np.arange(len(mean)), mean, _averaged(_work(trees)))


def _work(trees: TreeEnsemble) -> list[Floats]:
    """Return the share of the documents of split nodes before and after each split of each tree."""
    shares = []
    for begin, end in pairwise(trees.tree_offsets):
        left, count = trees.left[begin:end], trees.count[begin:end]
        inner = np.flatnonzero(left >= 0)
        # Children are numbered when their parent is split.
        documents = count[inner[np.argsort(left[inner])]].cumsum(dtype=np.float64)
        shares.append(np.append(0.0, documents / documents[-1]) if len(inner) else np.ones(1))
    return shares


def _averaged(curves: Sequence[Any]) -> Floats:
    longest = max(len(curve) for curve in curves)
    total = np.zeros(longest)
    for curve in curves:
        total[: len(curve)] += curve
        total[len(curve) :] += curve[-1]
    mean: Floats = total / len(curves)
    return mean
