"""Growing of forests: documents are binned once, for any targets, weights and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.matrix import sparse
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.errors import DataError
from rankgrove.forests.criteria import find_criterion
from rankgrove.forests.sampling import TreeSample
from rankgrove.metrics.listwise_metric import ListwiseMetric
from rankgrove.trees.bin_cache import cached_bins, cached_codes
from rankgrove.trees.binning import saw_missing

Floats = npt.NDArray[np.float64]

MAX_BYTE_BINS = 255
MAX_CLASSES = 255
NODE_ORDERS = (
    *("breadth-first", "depth-first", "random"),
    *("biggest-first", "most-relevant-first", "best-first"),
)


@dataclass(frozen=True)
class Growth:
    """How trees choose their splits and when they stop.

    Attributes
    ----------
    splitter : ``"best"`` (all thresholds of K features), ``"random-threshold"`` (one each) or
        ``"random"`` (one feature, one threshold)
    criterion : name of the gain of pointwise splits
    order : which leaf is split next, one of NODE_ORDERS
    max_features : K
    redraw : whether a node whose K features are all constant draws more, one at a time
    listwise_levels : levels that are split by the metric of the targets, from the root. None: all,
        and no split is pointwise
    fallback : whether a node of these levels where no such split gains is split pointwise; else it
        is a leaf
    max_depth, max_leaf_nodes : None for no limit
    missing_branch : whether missing values are a third child of a split
    threshold_fraction, query_fraction : parts of the thresholds and queries that a node looks at
    """

    splitter: str = "best"
    criterion: str = "squared_error"
    order: str = "breadth-first"
    max_features: int = 1
    redraw: bool = True
    listwise_levels: int | None = 0
    fallback: bool = True
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    missing_branch: bool = False
    min_gain: float = 0.0
    threshold_fraction: float = 1.0
    query_fraction: float = 1.0

    def native(self) -> _native.ForestOptions:
        """Return the options of the native grower."""
        return _native.ForestOptions(
            **{**vars(self), "criterion": find_criterion(self.criterion).native}
        )


@dataclass
class Grown:
    """Finished trees and their numbers in the forest; growing may have been interrupted."""

    trees: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    interrupted: bool = False


class TreeSharer(Protocol):
    """Divides the trees of forests among workers, each of which holds all documents."""

    def grow(self, first_tree: int, n_trees: int, grow_some: Callable[[int, int], Grown]) -> Grown:
        """Return trees of these numbers, in order; ``grow_some(first, n)`` grows some locally."""


_TREE_SHARER: ContextVar[TreeSharer | None] = ContextVar("tree_sharer", default=None)


@contextmanager
def sharing_trees(sharer: TreeSharer) -> Iterator[None]:
    """Context in which the trees of every forest are divided among workers by a sharer."""
    token = _TREE_SHARER.set(sharer)
    try:
        yield
    finally:
        _TREE_SHARER.reset(token)


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
        bins = cached_bins(data.X, max_bins=max_bins, fill=fill, n_jobs=n_threads)
        binned = cached_codes(
            data.X,
            bins,
            rows=data.groups.order,
            dense=_may_be_dense(data.X, max_bins),
            n_jobs=n_threads,
        )
        self._features = _native.ForestFeatures(
            binned, data.filled_offsets, *_extremes(data.X, fill), n_threads
        )
        self._n_threads = n_threads
        self.n_features = data.columns.count
        self.n_queries = len(data.filled_offsets) - 1
        self.saw_missing = saw_missing(bins)

    def targets(
        self,
        y: Floats,
        *,
        by: str,
        leaf_score: str = "label",
        weight: Floats | None = None,
        metric: ListwiseMetric | None = None,
    ) -> _native.ForestTargets:
        """Prepare the native targets: labels, weights and a metric, in grouped order.

        ``by`` is the criterion that splits are chosen by.
        """
        classes, label = np.unique(y, return_inverse=True)
        has_classes = len(classes) <= MAX_CLASSES
        if not has_classes and find_criterion(by).needs_classes:
            raise DataError(
                f"the criterion {by!r} takes at most {MAX_CLASSES} different labels, and y "
                f"has {len(classes)}: use criterion='squared_error'"
            )
        targets = _native.ForestTargets(
            self._features,
            leaf_scores(y, leaf_score),
            label.astype(np.uint8) if has_classes else None,
            leaf_scores(classes, leaf_score) if has_classes else None,
            weight,
        )
        if metric is not None:
            targets.set_metric(
                metric.gain,
                metric.discount,
                metric.scale,
                metric.weight,
                kind=metric.kind,
                k=metric.k,
                function=metric.function,
                reads_scores=metric.function is not None and metric.function.reads_scores,
            )
        return targets

    def grow(
        self,
        targets: _native.ForestTargets,
        growth: Growth,
        sample: TreeSample,
        *,
        seed: int,
        first_tree: int,
        n_trees: int,
        out_of_bag: tuple[Floats, npt.NDArray[np.int32]] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Grown:
        """Grow trees ``first_tree`` to ``first_tree + n_trees - 1`` of the forest of a seed.

        ``out_of_bag`` are sums and counts of the documents, in grouped order: to each document the
        values of the trees are added whose sample did not hold it.
        """
        sharer = _TREE_SHARER.get()
        if sharer is None:
            whole = (first_tree, n_trees)
            return self._grow(targets, growth, sample, seed, whole, out_of_bag, progress)
        grown = sharer.grow(
            first_tree,
            n_trees,
            lambda *some: self._grow(targets, growth, sample, seed, some, None, None),
        )
        if out_of_bag is not None:
            _native.add_out_of_bag(
                self._features,
                grown.trees,
                sample.native(),
                seed=seed,
                first_tree=first_tree,
                sums=out_of_bag[0],
                counts=out_of_bag[1],
                n_threads=self._n_threads,
            )
        return grown

    def _grow(
        self,
        targets: _native.ForestTargets,
        growth: Growth,
        sample: TreeSample,
        seed: int,
        numbers: tuple[int, int],
        out_of_bag: tuple[Floats, npt.NDArray[np.int32]] | None,
        progress: Callable[[int], None] | None,
    ) -> Grown:
        """Grow trees locally; ``numbers`` are the number of the first tree and how many to grow."""
        grown: list[tuple[int, Any]] = []
        interrupted = False
        try:
            _native.grow_forest(
                targets,
                growth.native(),
                sample.native(),
                grown,
                seed=seed,
                first_tree=numbers[0],
                n_trees=numbers[1],
                out_of_bag=out_of_bag,
                n_threads=self._n_threads,
                progress=progress,
            )
        except KeyboardInterrupt:
            interrupted = True
        return Grown([tree for _, tree in grown], [number for number, _ in grown], interrupted)


def leaf_scores(labels: Floats, rule: str) -> Floats:
    """Return g(label) of each label, the quantity that a leaf averages over its documents."""
    if rule == "label":
        return labels
    with np.errstate(over="ignore"):
        scores: Floats = labels**2 if rule == "square" else np.exp2(labels)
    if not np.isfinite(scores).all():
        wrong = labels[~np.isfinite(scores)][0]
        raise DataError(f"the label {wrong:g} is too large for leaf_score={rule!r}")
    return scores


def value_type(targets: Floats) -> type[np.floating[Any]]:
    """Return the smallest float dtype that can distinguish means of the targets.

    float32 keeps 24 bits. If the targets differ in their last bits alone (10^9 + 1 and 10^9 + 2),
    or leave its range, it takes float64.
    """
    low, high = float(targets.min()), float(targets.max())
    limits = np.finfo(np.float32)
    largest = max(abs(low), abs(high))
    if largest > float(limits.max):
        return np.float64
    if low == high:
        return np.float32 if float(np.float32(low)) == low else np.float64
    least = max(largest / 16, float(limits.tiny / limits.eps))
    return np.float32 if high - low >= least else np.float64


def _may_be_dense(X: FeatureMatrix, max_bins: int) -> bool:
    """Return whether dense codes, both by column and by row, are small enough for memory."""
    code_bytes = 1 if max_bins <= MAX_BYTE_BINS else 2
    return bool(2 * code_bytes * X.shape[0] * X.shape[1] <= sparse.MAX_DENSE_BYTES)


def _extremes(
    X: FeatureMatrix, fill: npt.NDArray[np.float32] | None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the finite minimum and maximum of each feature; -0 becomes 0."""

    def find() -> dict[str, npt.NDArray[Any]]:
        low, high = X.extremes()
        return {"low": low + np.float32(0), "high": high + np.float32(0)}

    found = X.memoised("extremes", find)
    low, high = found["low"], found["high"]
    if fill is not None:
        low, high = np.fmin(low, fill), np.fmax(high, fill)
    limit = np.finfo(np.float32).max
    low = np.clip(np.nan_to_num(low, nan=0.0), -limit, limit)
    high = np.clip(np.nan_to_num(high, nan=0.0), -limit, limit)
    return np.ascontiguousarray(low, np.float32), np.ascontiguousarray(high, np.float32)
