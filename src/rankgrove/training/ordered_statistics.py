r"""Ordered target statistics of categorical columns, with queries as the unit of order.

The statistic of a document d of query q with category c sees only documents of queries before q in
a random order of the queries, so that no label of a query leaks into its own list:

.. math::

    s(d) = \frac{\sum_{d': c(d') = c,\; q(d') < q} \tilde y_{d'} + a p}
                {\#\{d': c(d') = c,\; q(d') < q\} + a},
    \qquad \tilde y_{d'} = y_{d'} - \bar y_{q(d')},

with the prior p and the smoothing a. :math:`\tilde y` is what a document is better than the mean of
its list: a ranker has no use for queries that have high labels throughout. Of several orders the
mean counts; the more there are, the nearer it comes to the mean over all other queries, which falls
as the own labels rise. Documents that are scored later get the statistic over all training
documents; a missing or unknown category has the prior.

(CatBoost orders documents instead: there, a document sees labels of its own list.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_STREAM = 0x0BDE  # tells the random numbers of orders from others of the same seed


@dataclass(frozen=True)
class OrderedStatistics:
    """The statistics of one column.

    Attributes
    ----------
    training : float32, of each row of X; rows that are no training documents have the prior
    table : float32, of each code, for documents that are scored later
    prior : of missing and unknown categories
    """

    training: npt.NDArray[np.float32]
    table: npt.NDArray[np.float32]
    prior: np.float32


def ordered_statistics(
    data: RankingInput,
    columns: Sequence[int],
    shard: RowShard,
    *,
    n_orders: int,
    prior: float,
    smoothing: float,
    seed: int,
) -> dict[int, OrderedStatistics]:
    """Compute the statistics of categorical columns; a collective call.

    Sums are those of integers: they do not depend on threads or on how rows are divided. No query
    may occur twice in the data: one copy would see the labels of the other, which are its own.
    """
    groups = data.groups
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    advantage = data.y - _means(data.y, query, groups.n_queries)[query]
    largest = np.array([np.abs(advantage).max(initial=0.0)])
    exponent = int(shard.scale_exponents(largest)[0])
    values = _gathered(np.ldexp(advantage, exponent).astype(np.int64), shard)
    sizes = _gathered(np.asarray(groups.sizes, np.int64), shard)
    offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    orders = [
        np.argsort(np.random.default_rng([_STREAM, seed, order]).permutation(shard.n_queries))
        for order in range(n_orders)
    ]
    first, scale = shard.first_query, np.ldexp(1.0, -exponent)

    def smoothed(sums: Integers, counts: Integers) -> Floats:
        return np.asarray((sums * scale + smoothing * prior) / (counts + smoothing))

    found = {}
    for column in columns:
        given = groups.grouped(data.X.take_columns(column, column + 1)[:, 0])
        known = ~np.isnan(given)
        codes = _gathered(np.where(known, given, -1).astype(np.int32), shard)
        n_codes = data.X.categories[column].n_codes
        mean = np.zeros(len(given))
        for order in orders:
            before = _native.ordered_sums(
                codes, values, offsets, order, n_codes, first, first + groups.n_queries
            )
            mean += smoothed(*np.asarray(before).reshape(2, -1))
        mean /= n_orders
        mean[~known] = prior
        total = np.zeros(n_codes, np.int64)
        np.add.at(total, codes[codes >= 0], values[codes >= 0])
        count = np.bincount(codes[codes >= 0], minlength=n_codes)
        training = np.full(len(data.X), prior, np.float32)
        training[slice(None) if groups.order is None else groups.order] = mean
        found[column] = OrderedStatistics(
            training,
            smoothed(total, count).astype(np.float32),
            np.float32(prior),
        )
    return found


def _means(y: Floats, query: Integers, n_queries: int) -> Floats:
    sums = np.bincount(query, y, n_queries)
    return np.asarray(sums / np.maximum(np.bincount(query, minlength=n_queries), 1))


def _gathered(values: npt.NDArray[Any], shard: RowShard) -> npt.NDArray[Any]:
    """Return the values of all workers, one after the other."""
    if shard.communicator is None:
        return values
    parts = shard.communicator.gather(np.ascontiguousarray(values).tobytes())
    return np.concatenate([np.frombuffer(part, values.dtype) for part in parts])
