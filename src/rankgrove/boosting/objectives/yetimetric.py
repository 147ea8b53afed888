"""YetiLoss for any metric: what the swap of two neighbours changes, by sums or by evaluation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.metrics.expected_metric import ExpectedMetric, expected_metric
from rankgrove.metrics.listwise_metric import listwise_metric
from rankgrove.metrics.metric import Metric

_MOST_VALUES = 4_000_000  # documents of the rankings that are evaluated at once


class YetiMetricPairs(Objective):
    r"""YetiRank's pairs, weighted by what their swap would change in any metric.

    The pairs are those of ``YetiLossPairs``. A metric that is a sum of gain times discount over the
    ranks (DCG, NDCG, precision, recall, rank-biased precision, Spearman's correlation) changes by
    :math:`(G_i - G_j)(d_r - d_{r+1})` when the neighbours at ranks r and r + 1 swap. Any other one
    is evaluated for each ranking with one swap, n + 1 times n documents per permutation.

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
        self.gains = np.zeros(len(data.y))
        self.rank_weight = np.zeros(0)
        if len(self.filled) == 0:
            return
        prepared = listwise_metric(measure, data.y, offsets, ids[self.filled])
        if prepared.kind == "position":
            sizes = np.diff(offsets)
            self.gains = prepared.gain * np.repeat(prepared.scale, sizes)
            discount = np.zeros(int(sizes.max()) + 1)
            discount[: len(prepared.discount)] = prepared.discount[: len(discount) - 1]
            self.rank_weight = discount[:-1] - discount[1:]
        else:
            self.expected = expected_metric(measure, data.y, offsets, ids[self.filled])

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
        if self.expected is None:
            _native.yetirank_gradients(
                offsets, scores[0], self.gains, self.rank_weight, weight, *draws, *filled
            )
            return
        orders = np.empty(self.n_permutations * len(self.data.y), np.int32)
        _native.perturbed_rankings(offsets, scores[0], *draws, orders)
        by_permutation = orders.reshape(self.n_permutations, -1)
        changes = np.concatenate([self._changes(order, self.expected) for order in by_permutation])
        _native.ranked_change_gradients(offsets, scores[0], changes, weight, *draws, *filled)

    def _changes(self, order: npt.NDArray[np.int32], expected: ExpectedMetric) -> Floats:
        """Return at the row of each rank what its document gains by being above the next one."""
        changes = np.zeros(len(order))
        starts, sizes = self.data.offsets[self.filled], np.diff(self.data.offsets)[self.filled]
        for size in np.unique(sizes[sizes > 1]):
            first = starts[sizes == size]
            step = max(1, _MOST_VALUES // int(size * size))
            for begin in range(0, len(first), step):
                rows = first[begin : begin + step, None] + np.arange(size)
                found = _swap_changes(first[begin : begin + step, None] + order[rows], expected)
                changes[rows[:, :-1]] = np.where(np.isnan(found), 0.0, found)
        if not expected.reads_scores:  # equal labels differ by rounding alone
            labels = self.data.y[order + np.repeat(starts, sizes)]
            changes[:-1][labels[:-1] == labels[1:]] = 0.0
        return changes


def _swap_changes(ranked: npt.NDArray[np.int64], expected: ExpectedMetric) -> Floats:
    """Return what each swap of neighbours takes from the metric, for rankings of equal length."""
    n_rankings, size = ranked.shape
    swapped = np.repeat(ranked[:, None, :], size, axis=1)  # the last one has no swap
    upper = np.arange(size - 1)
    swapped[:, upper, upper] = ranked[:, 1:]
    swapped[:, upper, upper + 1] = ranked[:, :-1]
    n_all = n_rankings * size
    scores = np.tile(-np.arange(size, dtype=np.float64), n_all)
    offsets = np.arange(n_all + 1, dtype=np.int64) * size
    values = expected(swapped.ravel().astype(np.int32), offsets, scores).reshape(n_rankings, size)
    return np.asarray(values[:, -1:] - values[:, :-1])
