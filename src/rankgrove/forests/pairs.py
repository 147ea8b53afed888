"""Pairs of documents of the same query, as row numbers in grouped order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Sampled pairs of different labels, query by query, each in a random order.

    Attributes
    ----------
    first, second : rows
    first_wins : whether the label of the first is the larger one
    per_query : number of pairs of each query that has some
    """

    first: Rows
    second: Rows
    first_wins: npt.NDArray[np.bool_]
    per_query: Rows

    def single(self) -> Pairs:
        """Return one pair of a document with itself, a tie."""
        zero = np.zeros(1, np.int64)
        return Pairs(zero, zero, np.zeros(1, bool), np.ones(1, np.int64))


def sample_pairs(
    labels: npt.NDArray[np.float64], offsets: Rows, max_pairs: int, seed: int
) -> Pairs:
    """Draw up to ``max_pairs`` pairs of different labels per query, without replacement.

    A pair is a document and a less relevant one; a query's pairs are numbered, and distinct numbers
    are drawn, so that queries with many pairs cost no more than those with few.
    """
    rng = np.random.default_rng([seed, 0x9A125])
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((labels, query))  # ascending labels within each query
    ranks = np.arange(len(labels)) - np.repeat(offsets[:-1], sizes)
    sorted_labels = labels[order]
    starts = np.r_[True, (np.diff(sorted_labels) != 0) | (np.diff(query) != 0)][: len(labels)]
    run_start = np.maximum.accumulate(np.where(starts, np.arange(len(labels)), 0))
    n_worse = ranks[run_start]  # documents of the query with a smaller label
    total = np.add.reduceat(np.r_[n_worse, 0], offsets[:-1]) * (sizes > 0)
    wanted = np.minimum(total, max_pairs)
    number = _distinct_numbers(total, wanted, rng)
    owner = np.repeat(np.arange(len(sizes)), wanted)
    before = np.cumsum(n_worse) - n_worse  # pairs of earlier documents, all queries
    base = before[np.minimum(offsets[:-1], len(labels) - 1)][owner] + number
    better = np.searchsorted(before, base, side="right") - 1
    worse = offsets[:-1][owner] + (base - before[better])
    first, second = order[better], order[worse]
    swap = rng.random(len(first)) < 0.5
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    return Pairs(first, second, ~swap, wanted[wanted > 0])


def _distinct_numbers(total: Rows, wanted: Rows, rng: np.random.Generator) -> Rows:
    """Draw ``wanted[q]`` distinct numbers below ``total[q]`` for each q, all queries at once.

    Number k of n is drawn from its own stretch of the range, so that no two can be equal.
    """
    place = np.arange(int(wanted.sum())) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    n, limit = np.repeat(wanted, wanted), np.repeat(total, wanted)
    low = place * limit // np.maximum(n, 1)
    high = (place + 1) * limit // np.maximum(n, 1)
    return np.asarray(low + (rng.random(len(place)) * (high - low)).astype(np.int64), np.int64)
