"""Growing trees on labels: documents are binned once, for any targets, weights and seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.errors import DataError
from rankgrove.forests.listwise_metric import PositionMetric
from rankgrove.forests.sampling import TreeSample
from rankgrove.training.inputs import RankingInput
from rankgrove.trees.binning import bin_matrix, find_bins

Floats = npt.NDArray[np.float64]

MAX_CLASSES = 255
UNLIMITED = 2**31 - 1


@dataclass(frozen=True)
class Growth:
    """How trees choose their splits and when they stop.

    Attributes
    ----------
    splitter : ``"best"`` (all thresholds of K features), ``"random-threshold"`` (one each) or
        ``"random"`` (one feature, one threshold)
    criterion : gain of a pointwise split
    order : which leaf is split next
    max_features : K
    listwise_levels : levels that are split by the metric of the targets, from the root
    threshold_fraction, query_fraction : parts of the thresholds and queries that a node looks at
    """

    splitter: str = "best"
    criterion: str = "squared_error"
    order: str = "breadth-first"
    max_features: int = 1
    listwise_levels: int = 0
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    max_depth: int = UNLIMITED
    max_leaf_nodes: int = UNLIMITED
    min_gain: float = 0.0
    threshold_fraction: float = 1.0
    query_fraction: float = 1.0


@dataclass
class Grown:
    """Finished trees and their numbers in the forest; growing may have been interrupted."""

    trees: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    interrupted: bool = False


class ForestGrower:
    """Grows trees on documents that are binned once.

    Parameters
    ----------
    data : the documents and their queries
    max_bins : distinct values kept per feature
    fill : per feature, the value that stands in for NaN, or None
    n_threads : threads; trees do not depend on it
    """

    def __init__(
        self,
        data: RankingInput,
        *,
        max_bins: int,
        fill: npt.NDArray[np.float32] | None,
        n_threads: int,
    ) -> None:
        bins = find_bins(data.X, max_bins=max_bins, fill=fill, n_jobs=n_threads)
        self._binned = bin_matrix(data.X, bins, rows=data.groups.order, n_jobs=n_threads)
        self._extremes = _extremes(data.X, fill)
        self._offsets = data.filled_offsets
        self._n_threads = n_threads

    def targets(
        self,
        y: Floats,
        *,
        criterion: str,
        leaf_score: str = "label",
        weight: Floats | None = None,
        metric: PositionMetric | None = None,
    ) -> _native.ForestData:
        """Prepare what trees learn: labels, weights and a metric, in grouped order."""
        classes, label = np.unique(y, return_inverse=True)
        has_classes = len(classes) <= MAX_CLASSES
        if not has_classes and criterion != "squared_error":
            raise DataError(
                f"the criterion {criterion!r} takes at most {MAX_CLASSES} different labels, and y "
                f"has {len(classes)}: use criterion='squared_error'"
            )
        targets = _native.ForestData(
            self._binned,
            leaf_scores(y, leaf_score),
            self._offsets,
            *self._extremes,
            label.astype(np.uint8) if has_classes else None,
            leaf_scores(classes, leaf_score) if has_classes else None,
            weight,
            self._n_threads,
        )
        if metric is not None:
            targets.set_metric(metric.gain, metric.discount, metric.scale, metric.weight)
        return targets

    def grow(
        self,
        targets: _native.ForestData,
        growth: Growth,
        sample: TreeSample,
        *,
        seed: int,
        first_tree: int,
        n_trees: int,
        progress: Callable[[int], None] | None = None,
    ) -> Grown:
        """Grow trees ``first_tree`` to ``first_tree + n_trees - 1`` of the forest of a seed."""
        grown: list[tuple[int, Any]] = []
        interrupted = False
        try:
            _native.grow_forest(
                targets,
                grown,
                seed=seed,
                first_tree=first_tree,
                n_trees=n_trees,
                n_threads=self._n_threads,
                progress=progress,
                **vars(growth),
                **sample.native(),
            )
        except KeyboardInterrupt:
            interrupted = True
        return Grown([tree for _, tree in grown], [number for number, _ in grown], interrupted)

    def add_out_of_bag(
        self,
        targets: _native.ForestData,
        grown: Grown,
        sample: TreeSample,
        seed: int,
        sums: Floats,
        counts: npt.NDArray[np.int32],
    ) -> None:
        """Add to each document the values of the trees whose sample did not hold it."""
        _native.add_out_of_bag(
            targets,
            grown.trees,
            grown.numbers,
            seed=seed,
            sums=sums,
            counts=counts,
            n_threads=self._n_threads,
            **sample.native(),
        )


def leaf_scores(labels: Floats, rule: str) -> Floats:
    """Return g(label) of each label: what a leaf averages over its documents."""
    if rule == "square":
        return labels**2
    if rule == "power":
        return np.exp2(labels)
    return labels


def _extremes(
    X: npt.NDArray[np.float32], fill: npt.NDArray[np.float32] | None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Smallest and largest value of each feature, finite."""
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    if fill is not None:
        low, high = np.fmin(low, fill), np.fmax(high, fill)
    limit = np.finfo(np.float32).max
    low = np.clip(np.nan_to_num(low, nan=0.0), -limit, limit)
    high = np.clip(np.nan_to_num(high, nan=0.0), -limit, limit)
    return np.ascontiguousarray(low, np.float32), np.ascontiguousarray(high, np.float32)
