r"""Ordered target statistics of categorical columns, with queries as the unit of order.

The statistic of a document d of query q with category c sees only documents of queries before q in
a random order of the queries, so that no label of a query leaks into its own list:

.. math::

    s(d) = \frac{\sum_{d': c(d') = c,\; q(d') < q} \tilde y_{d'} + a p}
                {\#\{d': c(d') = c,\; q(d') < q\} + a},
    \qquad \tilde y_{d'} = y_{d'} - \bar y_{q(d')},

with the prior p and the smoothing a. :math:`\tilde y` is what a document is better than the mean of
its list: a ranker has no use for queries that have high labels throughout. Of several orders the
mean counts. Documents that are scored later get the statistic over all training documents; a
missing or unknown category has the prior.

(CatBoost orders documents instead: there, a document sees labels of its own list.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
    training : float32, of each training document, in the rows of X
    table : float32, of each code, for documents that are scored later
    prior : of missing and unknown categories
    """

    training: npt.NDArray[np.float32]
    table: npt.NDArray[np.float32]
    prior: np.float32


def ordered_statistics(
    data: RankingInput,
    column: int,
    shard: RowShard,
    *,
    n_orders: int,
    prior: float,
    smoothing: float,
    seed: int,
) -> OrderedStatistics:
    """Compute the statistics of a categorical column; a collective call.

    Sums are those of integers: they do not depend on threads or on how rows are divided.
    """
    codes = data.groups.grouped(data.X.take_columns(column, column + 1)[:, 0])
    n_codes = data.X.categories[column].n_codes
    query = np.repeat(np.arange(data.groups.n_queries), data.groups.sizes)
    advantage = data.y - _means(data.y, query, data.groups.n_queries)[query]
    largest = np.array([np.abs(advantage).max(initial=0.0)])
    exponent = int(shard.scale_exponents(largest)[0])
    known = ~np.isnan(codes)
    own = np.stack(
        [
            codes[known].astype(np.int64),
            query[known] + shard.first_query,
            np.ldexp(advantage[known], exponent).astype(np.int64),
        ]
    )
    cells = _gathered(_cells(own), shard)
    scale = np.ldexp(1.0, -exponent)

    def smoothed(sums: Integers, counts: Integers) -> Floats:
        return np.asarray((sums * scale + smoothing * prior) / (counts + smoothing))

    total, count = np.zeros((2, n_codes), np.int64)
    np.add.at(total, cells[0], cells[2])
    np.add.at(count, cells[0], cells[3])
    mean = np.zeros(len(codes))
    wanted = own[0], own[1]
    for order in range(n_orders):
        place = np.random.default_rng([_STREAM, seed, order]).permutation(shard.n_queries)
        mean[known] += smoothed(*_before(cells, place, wanted))
    mean /= n_orders
    mean[~known] = prior
    return OrderedStatistics(
        data.groups.restored(mean.astype(np.float32)),
        smoothed(total, count).astype(np.float32),
        np.float32(prior),
    )


def _means(y: Floats, query: Integers, n_queries: int) -> Floats:
    sums = np.bincount(query, y, n_queries)
    return np.asarray(sums / np.maximum(np.bincount(query, minlength=n_queries), 1))


def _cells(rows: Integers) -> Integers:
    """Return code, query, sum and count of each pair of code and query that has rows."""
    order = np.lexsort((rows[1], rows[0]))
    code, query, value = rows[:, order]
    first = np.flatnonzero(np.r_[True, (np.diff(code) != 0) | (np.diff(query) != 0)][: len(code)])
    if len(first) == 0:
        return np.zeros((4, 0), np.int64)
    sums = np.add.reduceat(value, first)
    counts = np.diff(np.r_[first, len(code)])
    return np.stack([code[first], query[first], sums, counts])


def _gathered(cells: Integers, shard: RowShard) -> Integers:
    if shard.communicator is None:
        return cells
    parts = shard.communicator.gather(np.ascontiguousarray(cells).tobytes())
    return np.concatenate([np.frombuffer(part, np.int64).reshape(4, -1) for part in parts], axis=1)


def _before(
    cells: Integers, place: Integers, wanted: tuple[Integers, Integers]
) -> tuple[Integers, Integers]:
    """Return sum and count of the wanted codes over the queries before the wanted ones."""
    n_queries = max(len(place), 1)
    keys = cells[0] * n_queries + place[cells[1]]
    order = np.argsort(keys)
    keys = keys[order]
    sums, counts = (np.r_[0, np.cumsum(cells[row][order])] for row in (2, 3))
    codes, queries = wanted
    at = np.searchsorted(keys, codes * n_queries + place[queries])
    first = np.searchsorted(keys, codes * n_queries)
    return sums[at] - sums[first], counts[at] - counts[first]
