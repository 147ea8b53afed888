"""Samples of the queries of a fit, which share its feature matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError
from rankgrove.rankers.base.estimator import BaseRanker

Integers = npt.NDArray[np.int64]


def refuse_rows(ranker: BaseRanker, what: str) -> None:
    """Refuse a ranker whose parameters number the rows of all data: a sample has others."""
    if ranker.bound_to_rows:
        owner = type(ranker).__name__
        raise ModelError(
            f"{owner} with {ranker.bound_to_rows}, which numbers the rows of all data, "
            f"cannot {what}"
        )


def bootstrap_queries(n_queries: int, seed: int, number: int) -> Integers:
    """Draw as many queries as there are, with replacement, in ascending order."""
    rng = np.random.default_rng([seed, number])
    return np.sort(rng.integers(0, n_queries, n_queries))


def fold_of_queries(n_queries: int, n_folds: int, seed: int) -> Integers:
    """Return the fold of each query, drawn at random, of sizes that differ by 1 at most."""
    fold = np.arange(n_queries) % n_folds
    return np.random.default_rng([seed, 4]).permutation(fold)


def others(queries: Integers, n_queries: int) -> Integers:
    """Return the queries that a sample does not hold."""
    held = np.zeros(n_queries, bool)
    held[queries] = True
    return np.flatnonzero(~held)


def distinct_queries(data: RankingInput) -> RankingInput:
    """Return a sample in which each query of the given one is once; the data itself if it is."""
    order, filled = data.groups.order, np.flatnonzero(data.groups.sizes)
    if order is None:
        return data
    _, first = np.unique(order[data.groups.offsets[filled]], return_index=True)
    return data if len(first) == len(filled) else query_sample(data, np.sort(filled[first]))


def places_of(queries: Integers, groups: QueryGroups) -> Integers:
    """Return the places of the documents of some queries in grouped order."""
    sizes = groups.sizes[queries]
    starts = np.repeat(groups.offsets[queries] - np.r_[0, np.cumsum(sizes)[:-1]], sizes)
    places: Integers = starts + np.arange(len(starts))
    return places


def query_sample(data: RankingInput, queries: Integers) -> RankingInput:
    """Return the documents of some queries of the data; a query that is drawn twice counts twice.

    The matrix is that of the data: ``groups.order`` lists rows of it.
    """
    groups = data.groups
    places = places_of(queries, groups)
    rows = places if groups.order is None else groups.order[places]
    offsets = np.r_[0, np.cumsum(groups.sizes[queries])].astype(np.int64)

    def taken(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.ascontiguousarray(values[places])

    return replace(
        data,
        y=taken(data.y),
        weight=None if data.weight is None else taken(data.weight),
        position=None if data.position is None else taken(data.position),
        propensity=None if data.propensity is None else taken(data.propensity),
        groups=QueryGroups(offsets, np.ascontiguousarray(rows), groups.ids[queries]),
    )
