r"""Uncertainty of the scores and ranks of a bag.

The members of a bag differ, and all of them differ from the judgments. A *draw* takes one member
per query and adds normal noise of standard deviation :math:`\tau` to its scores; the ranks of many
draws give the chance of each rank. :math:`\tau` is chosen on out-of-bag queries: the one whose
chances to be among the first k come nearest to what the labels say (least Brier score over
k = 1, 3, 5, 10; tied labels share their ranks evenly).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Candidates of the noise, in standard deviations of scores within queries.
_NOISE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
_CUTS = (1, 3, 5, 10)
_DRAWS = 100
_MOST_QUERIES = 300  # that choose the noise


@dataclass(frozen=True)
class Uncertainty:
    """Uncertainty of the scores and ranks of documents by a bag, in the order of the rows.

    Attributes
    ----------
    score : the mean over members, as ``predict``
    score_low, score_high : interval of the score that another training sample would give
    rank_low, rank_high : interval of the rank by relevance
    level : chance of these intervals
    ranks : of all draws, shape (draws, rows)
    """

    score: Floats
    score_low: Floats
    score_high: Floats
    rank_low: Integers
    rank_high: Integers
    level: float
    ranks: npt.NDArray[np.int32]

    def chance_in_top(self, k: int) -> Floats:
        """Return the chance of each document to be among the k most relevant of its query."""
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise ValueError(f"k must be a whole number of at least 1, not {k!r}")
        return np.asarray((self.ranks <= k).mean(axis=0))


def uncertainty(
    members: Floats, groups: QueryGroups, noise: float, level: float, n_draws: int, seed: int
) -> Uncertainty:
    """Draw ranks of documents.

    Parameters
    ----------
    members : scores, shape (members, rows)
    noise : standard deviation of what is added to scores
    """
    from scipy.special import ndtri

    mean, spread = members.mean(axis=0), members.std(axis=0, ddof=1 if len(members) > 1 else 0)
    half = float(ndtri(0.5 + level / 2)) * spread
    everybody = np.ones((len(members), groups.n_queries), bool)
    ranks = _drawn_ranks(members, everybody, groups, noise, n_draws, seed)
    low, high = np.quantile(
        ranks, [0.5 - level / 2, 0.5 + level / 2], axis=0, method="inverted_cdf"
    )
    return Uncertainty(
        score=mean,
        score_low=mean - half,
        score_high=mean + half,
        rank_low=low.astype(np.int64),
        rank_high=high.astype(np.int64),
        level=level,
        ranks=ranks,
    )


def fitted_noise(
    members: Floats, unseen: npt.NDArray[np.bool_], labels: Floats, groups: QueryGroups, seed: int
) -> float:
    """Choose the noise on out-of-bag queries; 0 if there are none.

    Parameters
    ----------
    members : scores in grouped order, shape (members, rows)
    unseen : whether a member has not seen a query, shape (members, queries)
    labels : in grouped order
    """
    known = np.flatnonzero(unseen.any(axis=0) & (groups.sizes > 1))
    if not len(known):
        return 0.0
    if len(known) > _MOST_QUERIES:
        chosen = np.random.default_rng([seed, 2]).permutation(known)[:_MOST_QUERIES]
        known = np.sort(chosen)
    rows = np.concatenate([np.arange(*groups.offsets[q : q + 2]) for q in known])
    own = QueryGroups.from_sizes(groups.sizes[known])
    scores, held = members[:, rows], unseen[:, known]
    truth = {k: chance_by_labels(labels[rows], own, k) for k in _CUTS}
    scale = float(np.sqrt(np.mean(_centred(scores, own) ** 2)))
    return scale * _least(_NOISE, lambda t: _brier(scores, held, own, t * scale, truth, seed))


def chance_by_labels(labels: Floats, groups: QueryGroups, k: int) -> Floats:
    """Return the probability to be among the first k by label, with ties in random order.

    Labels and result are in grouped order.
    """
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    order = np.lexsort((-labels, query))
    sorted_labels, sorted_query = labels[order], query[order]
    new = np.r_[True, (np.diff(sorted_labels) != 0) | (np.diff(sorted_query) != 0)]
    starts = np.flatnonzero(new)
    tie = np.cumsum(new) - 1
    above = starts[tie] - groups.offsets[sorted_query]
    size = np.diff(np.r_[starts, len(labels)])[tie]
    result = np.empty(len(labels))
    result[order] = np.clip((k - above) / size, 0.0, 1.0)
    return result


def _centred(scores: Floats, groups: QueryGroups) -> Floats:
    sums = np.add.reduceat(scores, groups.offsets[:-1], axis=1)
    return np.asarray(scores - np.repeat(sums / groups.sizes, groups.sizes, axis=1))


def _least(values: tuple[float, ...], cost: Callable[[float], float]) -> float:
    costs = [cost(value) for value in values]
    return values[int(np.argmin(costs))]


def _brier(
    scores: Floats,
    held: npt.NDArray[np.bool_],
    groups: QueryGroups,
    noise: float,
    truth: dict[int, Floats],
    seed: int,
) -> float:
    ranks = _drawn_ranks(scores, held, groups, noise, _DRAWS, seed)
    return float(np.mean([np.mean(((ranks <= k).mean(axis=0) - p) ** 2) for k, p in truth.items()]))


def _drawn_ranks(
    members: Floats,
    may_judge: npt.NDArray[np.bool_],
    groups: QueryGroups,
    noise: float,
    n_draws: int,
    seed: int,
) -> npt.NDArray[np.int32]:
    """Return the ranks of all draws; rows as in ``groups``."""
    rng = np.random.default_rng([seed, 3])
    query = groups.query_of_row()
    rows = np.arange(groups.n_rows)
    ranks = np.empty((n_draws, groups.n_rows), np.int32)
    for draw in range(n_draws):
        lot = np.where(may_judge, rng.random(may_judge.shape), -1.0)
        scores = members[lot.argmax(axis=0)[query], rows]
        ranks[draw] = groups.ranks(scores + noise * rng.standard_normal(len(rows)))
    return ranks


def as_grouped(groups: QueryGroups) -> QueryGroups:
    """Return the same queries for rows in grouped order."""
    return replace(groups, order=None)
