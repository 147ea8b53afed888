"""YetiLoss for any metric: what the swap of two neighbours changes, by sums or by evaluation."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.metrics.expected_metric import ExpectedMetric, expected_metric, untied_pairs
from rankgrove.metrics.ic import InformationCoefficient
from rankgrove.metrics.kendall_tau import KendallTau
from rankgrove.metrics.listwise_metric import listwise_metric
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.pair_accuracy import PairAccuracy

Integers = npt.NDArray[np.int64]

_MOST_VALUES = 4_000_000  # documents of the rankings that are evaluated at once
_LONG_LIST = 2_000  # evaluating all swaps of this many documents takes seconds per permutation


class YetiMetricPairs(Objective):
    r"""YetiRank's pairs, weighted by the change of any metric if they were swapped.

    The pairs are those of ``YetiLossPairs``. A metric that is a sum of gain times discount over the
    ranks (DCG, NDCG, precision, recall, rank-biased precision, Spearman's correlation) changes by
    :math:`(G_i - G_j)(d_r - d_{r+1})` when the neighbours at ranks r and r + 1 swap; Pearson's
    correlation with the ranks has constant :math:`d_r - d_{r+1}`. Pair accuracy and Kendall's tau
    change by the sign of :math:`y_i - y_j`, over the number of pairs. Any other one is evaluated
    for each ranking with one swap, n + 1 times n documents per permutation.

    Parameters
    ----------
    measure : a mean over queries that depends on the ranking
    n_permutations : perturbed rankings per query and iteration
    """

    def __init__(self, data: TrainingData, measure: Metric, n_permutations: int = 10) -> None:
        self.data = data
        self.n_permutations = n_permutations
        self.filled = np.flatnonzero(np.diff(data.offsets))
        offsets = np.ascontiguousarray(data.offsets[np.r_[self.filled, data.n_queries]])
        ids = np.arange(data.n_queries) if data.query_ids is None else data.query_ids
        self.expected: ExpectedMetric | None = None
        self.pair_value: Floats | None = None
        self.gains = np.zeros(len(data.y))
        self.rank_weight = np.zeros(0)
        if len(self.filled) == 0:
            return
        sizes = np.diff(offsets)
        if isinstance(measure, PairAccuracy | KendallTau):
            self.pair_value = _pair_values(measure, data.y, offsets)
            return
        if isinstance(measure, InformationCoefficient):
            self.gains = data.y * np.repeat(_rank_correlation_scale(data.y, offsets), sizes)
            self.rank_weight = np.ones(int(sizes.max()))
            return
        prepared = listwise_metric(measure, data.y, offsets, ids[self.filled])
        if prepared.kind == "position":
            self.gains = prepared.gain * np.repeat(prepared.scale, sizes)
            discount = np.zeros(int(sizes.max()) + 1)
            discount[: len(prepared.discount)] = prepared.discount[: len(discount) - 1]
            self.rank_weight = discount[:-1] - discount[1:]
            return
        self.expected = expected_metric(measure, data.y, offsets, ids[self.filled])
        longest = int(sizes.max())
        if longest > _LONG_LIST:
            warnings.warn(
                f"{measure} is evaluated for each swap of neighbours, and a query has {longest} "
                "documents; sums over the ranks (ndcg, p, recall, rbp, spearman), ic, tau and "
                "pair-accuracy take time in proportion to them",
                stacklevel=2,
            )

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians; the draws depend on seed, iteration and query alone."""
        assert hessians is not None
        draws = (
            self.n_permutations,
            self.data.seed,
            iteration,
            self.data.shard.first_query,
            self.data.n_threads,
        )
        filled = gradients[0], hessians[0]
        offsets, weight = self.data.offsets, self.data.weight
        if self.expected is None and self.pair_value is None:
            _native.yetirank_gradients(
                offsets, scores[0], self.gains, self.rank_weight, weight, *draws, *filled
            )
            return
        orders = np.empty(self.n_permutations * len(self.data.y), np.int32)
        _native.perturbed_rankings(offsets, scores[0], *draws, orders)
        by_permutation = orders.reshape(self.n_permutations, -1)
        changes = np.concatenate([self._changes(order) for order in by_permutation])
        _native.ranked_change_gradients(offsets, scores[0], changes, weight, *draws, *filled)

    def _changes(self, order: npt.NDArray[np.int32]) -> Floats:
        """Return at the row of each rank what its document gains by being above the next one."""
        starts, sizes = self.data.offsets[self.filled], np.diff(self.data.offsets)[self.filled]
        labels = self.data.y[order + np.repeat(starts, sizes)]
        changes = np.zeros(len(order))
        if self.pair_value is not None:
            changes[:-1] = self.pair_value[:-1] * np.sign(labels[:-1] - labels[1:])
            return changes
        assert self.expected is not None
        for size in np.unique(sizes[sizes > 1]):
            first = starts[sizes == size]
            step = max(1, _MOST_VALUES // int(size * size))
            for begin in range(0, len(first), step):
                rows = first[begin : begin + step, None] + np.arange(size)
                ranked = first[begin : begin + step, None] + order[rows]
                found = _swap_changes(ranked, self.expected)
                changes[rows[:, :-1]] = np.where(np.isnan(found), 0.0, found)
        if not self.expected.reads_scores:  # equal labels differ by rounding alone
            changes[:-1][labels[:-1] == labels[1:]] = 0.0
        return changes


def _pair_values(measure: PairAccuracy | KendallTau, y: Floats, offsets: Integers) -> Floats:
    """Return at each document what a pair of its query adds that is in the right order."""
    sizes = np.diff(offsets).astype(np.float64)
    pairs = sizes * (sizes - 1) / 2
    unequal = untied_pairs(y, offsets).astype(np.float64)
    if isinstance(measure, PairAccuracy):
        value = np.where(unequal > 0, 1 / np.maximum(unequal, 1), 0.0)
    else:
        norm = np.sqrt(pairs * unequal) if measure.variant == "b" else pairs
        value = np.where(unequal > 0, 2 / np.maximum(norm, 1), 0.0)
    return np.repeat(value, np.diff(offsets))


def _rank_correlation_scale(y: Floats, offsets: Integers) -> Floats:
    """Return one over the product of the deviations of labels and ranks, 0 for equal labels."""
    sizes = np.diff(offsets).astype(np.float64)
    means = np.add.reduceat(y, offsets[:-1]) / sizes
    squares = np.add.reduceat((y - np.repeat(means, np.diff(offsets))) ** 2, offsets[:-1])
    unequal = untied_pairs(y, offsets) > 0
    product = np.where(unequal, squares * sizes * (sizes**2 - 1) / 12, 1.0)
    return np.where(unequal, 1 / np.sqrt(product), 0.0)


def _swap_changes(ranked: npt.NDArray[np.int64], expected: ExpectedMetric) -> Floats:
    """Return what each swap of neighbours takes from the metric, for rankings of equal length."""
    n_rankings, size = ranked.shape
    values = _values(ranked, expected)
    found = np.empty((n_rankings, size - 1))
    step = max(1, _MOST_VALUES // (n_rankings * size))
    for begin in range(0, size - 1, step):
        upper = np.arange(begin, min(begin + step, size - 1))
        swapped = np.repeat(ranked[:, None, :], len(upper), axis=1)
        places = np.arange(len(upper))
        swapped[:, places, upper] = ranked[:, upper + 1]
        swapped[:, places, upper + 1] = ranked[:, upper]
        other = _values(swapped.reshape(-1, size), expected)
        found[:, upper] = values[:, None] - other.reshape(n_rankings, -1)
    return found


def _values(ranked: npt.NDArray[np.int64], expected: ExpectedMetric) -> Floats:
    """Return the metric of rankings of equal length, one per row."""
    n_rankings, size = ranked.shape
    scores = np.tile(-np.arange(size, dtype=np.float64), n_rankings)
    offsets = np.arange(n_rankings + 1, dtype=np.int64) * size
    return expected(ranked.ravel().astype(np.int32), offsets, scores)
