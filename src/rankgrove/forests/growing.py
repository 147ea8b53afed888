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
from rankgrove.forests.sharded_growing import ShardedGrower
from rankgrove.metrics.listwise_metric import ListwiseMetric
from rankgrove.trees.bin_cache import cached_codes
from rankgrove.trees.binning import Bins, saw_missing
from rankgrove.trees.shared_binning import shared_bins
from rankgrove.workers.row_shard import RowShard

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
    """Grows the trees of forests in rounds, and records each round.

    Workers that each hold all documents share out the trees of a round.
    """

    def grow(
        self, first_tree: int, n_trees: int, grow_some: Callable[[int, int], Grown], bins: Bins
    ) -> Grown:
        """Return trees of these numbers, in order; ``grow_some(first, n)`` grows some."""


_TREE_SHARER: ContextVar[TreeSharer | None] = ContextVar("tree_sharer", default=None)


@contextmanager
def sharing_trees(sharer: TreeSharer) -> Iterator[None]:
    """Context in which the trees of every forest are grown by a sharer."""
    token = _TREE_SHARER.set(sharer)
    try:
        yield
    finally:
        _TREE_SHARER.reset(token)


@dataclass(frozen=True)
class PreparedTargets:
    """What a forest learns: native targets of this worker, and extreme values of all workers."""

    native: _native.ForestTargets
    largest_target: float
    largest_weight: float


class ForestGrower:
    """Grows trees on documents that are binned once.

    Parameters
    ----------
    data : the documents of this worker and their queries
    shard : position of these documents among those of all workers
    max_bins : distinct values kept per feature
    fill : per feature, the value that stands in for NaN, or None
    n_threads : threads; trees do not depend on it
    """

    def __init__(
        self,
        data: RankingInput,
        shard: RowShard,
        *,
        max_bins: int,
        fill: npt.NDArray[np.float32] | None,
        n_threads: int,
    ) -> None:
        bins = shared_bins(data.X, shard, max_bins=max_bins, fill=fill, n_jobs=n_threads)
        extremes = _extremes(data.X, shard, fill)  # before the codes: they may replace the values
        binned = cached_codes(
            data.X,
            bins,
            rows=data.groups.order,
            dense=_may_be_dense(data.X, max_bins),
            n_jobs=n_threads,
        )
        self._features = _native.ForestFeatures(binned, data.filled_offsets, *extremes, n_threads)
        self._bins = bins
        self._n_threads = n_threads
        self._shard = shard
        self._n_rows = data.groups.n_rows
        self._longest_query = int(shard.maximum(data.groups.sizes.astype(np.float64), 0.0))
        self.n_features = data.columns.count
        self.n_queries = shard.n_nonempty_queries
        self.saw_missing = saw_missing(bins)

    def targets(
        self,
        y: Floats,
        *,
        by: str,
        leaf_score: str = "label",
        weight: Floats | None = None,
        metric: ListwiseMetric | None = None,
    ) -> PreparedTargets:
        """Prepare targets: labels, weights and a metric, in grouped order; a collective call.

        ``by`` is the criterion that splits are chosen by.
        """
        classes, n_different = self._shard.few_distinct(y, MAX_CLASSES)
        if classes is None and find_criterion(by).needs_classes:
            raise DataError(
                f"the criterion {by!r} takes at most {MAX_CLASSES} different labels, and y "
                f"has {n_different}: use criterion='squared_error'"
            )
        target = leaf_scores(y, leaf_score)
        targets = _native.ForestTargets(
            self._features,
            target,
            None if classes is None else np.searchsorted(classes, y).astype(np.uint8),
            None if classes is None else leaf_scores(classes, leaf_score),
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
        return PreparedTargets(
            targets,
            self._shard.maximum(np.abs(target), 0.0),
            1.0 if weight is None else self._shard.maximum(weight, 0.0),
        )

    def grow(
        self,
        targets: PreparedTargets,
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
        self._make_sums_exact(targets, growth, sample)
        drawn = sample.native(self._shard)
        sharer = _TREE_SHARER.get()
        if sharer is None and self._shard.single_worker:
            whole = (first_tree, n_trees)
            return self._grow(targets, growth, drawn, seed, whole, out_of_bag, progress)

        sharded: ShardedGrower | None = None
        if not self._shard.single_worker:
            shape = (self._n_rows, self.n_features)
            sharded = ShardedGrower(self._features, shape, self._shard, self._n_threads)
            largest = sharded.largest_sample(drawn, sample, seed, first_tree, n_trees)

        def grow_some(*some: int) -> Grown:
            if sharded is None:
                return self._grow(targets, growth, drawn, seed, some, None, None)
            options = growth.native()
            trees = sharded.grow(targets.native, options, drawn, seed, some, largest)
            return Grown(trees, list(range(some[0], some[0] + some[1])))

        grown = (
            grow_some(first_tree, n_trees)
            if sharer is None
            else sharer.grow(first_tree, n_trees, grow_some, self._bins)
        )
        if out_of_bag is not None:
            _native.add_out_of_bag(
                self._features,
                grown.trees,
                drawn,
                seed=seed,
                first_tree=first_tree,
                sums=out_of_bag[0],
                counts=out_of_bag[1],
                n_threads=self._n_threads,
            )
        return grown

    def _make_sums_exact(
        self, targets: PreparedTargets, growth: Growth, sample: TreeSample
    ) -> None:
        """Round targets and weights so that their sums are exact in any order of the rows.

        Listwise splits and criteria in Python have sums of their own, of one worker alone.
        """
        if growth.listwise_levels != 0 or find_criterion(growth.criterion).function is not None:
            return
        exact = targets.native.make_sums_exact(
            sample.most_documents(self._shard.n_rows, self._longest_query),
            targets.largest_weight,
            targets.largest_target,
        )
        if not exact and not self._shard.single_worker:
            raise DataError(
                f"the labels of documents, up to {targets.largest_target:g}, are too large to be "
                "added up over several workers"
            )

    def _grow(
        self,
        targets: PreparedTargets,
        growth: Growth,
        sample: _native.ForestSample,
        seed: int,
        numbers: tuple[int, ...],
        out_of_bag: tuple[Floats, npt.NDArray[np.int32]] | None,
        progress: Callable[[int], None] | None,
    ) -> Grown:
        """Grow trees locally; ``numbers`` are the number of the first tree and how many to grow."""
        grown: list[tuple[int, Any]] = []
        interrupted = False
        try:
            _native.grow_forest(
                targets.native,
                growth.native(),
                sample,
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


def value_type(targets: Floats, shard: RowShard) -> type[np.floating[Any]]:
    """Return the smallest float dtype that can distinguish means of the targets.

    float32 keeps 24 bits. If the targets differ in their last bits alone (10^9 + 1 and 10^9 + 2),
    or leave its range, it takes float64.
    """
    low, high = shard.range(targets)
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
    X: FeatureMatrix, shard: RowShard, fill: npt.NDArray[np.float32] | None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the finite minimum and maximum of each feature over all workers; -0 becomes 0."""

    def find() -> dict[str, npt.NDArray[Any]]:
        low, high = X.extremes()
        return {"low": low + np.float32(0), "high": high + np.float32(0)}

    low = high = np.full(X.n_columns, np.nan, np.float32)
    if len(X):
        found = X.memoised("extremes", find)
        low, high = found["low"], found["high"]
    if not shard.single_worker:
        low = np.fmin.reduce(shard.gather(low.astype(np.float64)).reshape(-1, X.n_columns))
        high = np.fmax.reduce(shard.gather(high.astype(np.float64)).reshape(-1, X.n_columns))
    if fill is not None:
        low, high = np.fmin(low, fill), np.fmax(high, fill)
    limit = np.finfo(np.float32).max
    low = np.clip(np.nan_to_num(low, nan=0.0), -limit, limit)
    high = np.clip(np.nan_to_num(high, nan=0.0), -limit, limit)
    return np.ascontiguousarray(low, np.float32), np.ascontiguousarray(high, np.float32)
