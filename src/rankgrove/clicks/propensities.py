"""Propensities: how probable it is that a position of a result list is examined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.clicks.click_log import ClickLog, Floats
from rankgrove.data.matrix.numbers import as_numbers
from rankgrove.errors import DataError


@dataclass(frozen=True)
class Propensities:
    """Examination probabilities by position, relative to that of position 1.

    Attributes
    ----------
    examination : entry 0 is position 1; its value is 1
    support : number of impressions that inform each position
    method : how they were estimated
    """

    examination: Floats
    support: Floats
    method: str

    def of(self, position: npt.ArrayLike) -> Floats:
        """Return the examination probability of each position."""
        places = np.asarray(position, np.int64)
        if len(places) and (places.min() < 1 or places.max() > len(self.examination)):
            outside = places[(places < 1) | (places > len(self.examination))][0]
            raise DataError(
                f"position {outside} has no propensity: there are {len(self.examination)}"
            )
        return np.asarray(self.examination[places - 1])


def given_propensities(examination: npt.ArrayLike) -> Propensities:
    """Take propensities that are known, from position 1 on."""
    values = as_numbers(examination, "examination").astype(np.float64)
    if values.ndim != 1 or not len(values) or not ((values > 0) & (values <= 1)).all():
        raise ValueError("examination must be a list of numbers above 0 and at most 1")
    return Propensities(values / values[0], np.full(len(values), np.inf), "given")


def propensities_of_random_lists(impressions: Any) -> Propensities:
    r"""Estimate propensities from lists whose documents were shuffled.

    With documents at random positions, relevance is the same at every position on average, so that
    :math:`\theta_k = \mathrm{ctr}_k / \mathrm{ctr}_1`, both over the lists that reach position
    k (short lists may be those of other queries). The caller vouches for the randomisation.
    """
    log = ClickLog.of(impressions)
    log.require_clicks()
    shown = log.sum_by_position(np.ones(log.n_rows))
    clicks = log.sum_by_position(log.clicked)
    _require_clicks(clicks)
    first = log.offsets[:-1]
    if (log.position[first] != 1).any():
        raise DataError("a list of the log does not begin at position 1")
    reach = log.position[log.offsets[1:] - 1]  # the last position of each list
    lists = np.cumsum(np.bincount(reach)[::-1])[::-1][1:]  # that reach position 1, 2, ...
    first_clicks = np.cumsum(np.bincount(reach, log.clicked[first])[::-1])[::-1][1:]
    without = np.flatnonzero(first_clicks <= 0)
    if len(without):
        raise DataError(
            f"no list that reaches position {without[0] + 1} has a click at position 1: the "
            "propensity cannot be estimated (leave positions from there on out of the log)"
        )
    return Propensities((clicks / shown) / (first_clicks / lists), shown, "random lists")


def propensities_of_rank_changes(impressions: Any) -> Propensities:
    r"""Estimate propensities from documents that were shown at several positions (AllPairs).

    Agarwal et al., *Estimating position bias without intrusive interventions*, 2019. For positions
    :math:`k \ne k'`, let :math:`\hat c_k^{k k'}` be the sum, over query-document pairs that were
    shown at both, of the click-through rate at :math:`k`, and :math:`\bar c_k^{k k'}` the sum of
    one minus that rate. Then examination :math:`p_k` and mean relevance :math:`r_{k k'} = r_{k' k}`
    maximise

    .. math::
        \sum_{k \ne k'} \hat c_k^{k k'} \log(p_k r_{k k'})
            + \bar c_k^{k k'} \log(1 - p_k r_{k k'}).

    Positions that no document shares with position 1, directly or over others, are an error.
    """
    from scipy.optimize import minimize

    log = ClickLog.of(impressions)
    log.require_clicks()
    clicks, others, support = _swaps(log)
    _require_clicks(clicks.sum(axis=1))
    _require_connected(clicks + others)
    depth = len(clicks)
    upper = np.triu_indices(depth, 1)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        p, r = _logistic(parameters[:depth]), _logistic(parameters[depth:])
        relevance = np.zeros((depth, depth))
        relevance[upper] = r
        relevance += relevance.T
        chance = np.clip(p[:, None] * relevance, 1e-12, 1 - 1e-12)
        value = -(clicks * np.log(chance) + others * np.log1p(-chance)).sum()
        # d/d log(chance) of the negative likelihood; log p and log r have slopes 1 - p and 1 - r
        slope = -(clicks - others * chance / (1 - chance))
        by_pair = (slope + slope.T)[upper]
        return float(value), np.r_[slope.sum(axis=1) * (1 - p), by_pair * (1 - r)]

    start = np.zeros(depth + len(upper[0]))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    examination = _logistic(found.x[:depth])
    return Propensities(examination / examination[0], support, "rank changes")


def _logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def _swaps(log: ClickLog) -> tuple[Floats, Floats, Floats]:
    """Return, by position k and other position k', the sums of rates of clicks and of no clicks."""
    from scipy import sparse

    depth = int(log.position.max())
    shape = (log.n_pairs, depth)
    place = (log.pair, log.position - 1)
    shown = sparse.csr_matrix((np.ones(log.n_rows), place), shape)
    clicked = sparse.csr_matrix((log.clicked, place), shape)
    rate = clicked.multiply(shown.power(-1)).tocsr()
    is_shown = shown.sign()
    clicks = np.asarray((rate.T @ is_shown).todense(), np.float64)
    others = np.asarray((is_shown.T @ is_shown).todense(), np.float64) - clicks
    for sums in (clicks, others):
        np.fill_diagonal(sums, 0.0)
    shared = np.asarray(is_shown.sum(axis=1) > 1).ravel()
    support = np.bincount(log.position - 1, shared[log.pair].astype(np.float64))
    return clicks, others, np.asarray(support, np.float64)


def _require_clicks(clicks: Floats) -> None:
    without = np.flatnonzero(clicks <= 0)
    if len(without):
        raise DataError(
            f"position {without[0] + 1} has no usable click: its propensity cannot be estimated "
            "(leave this position and those behind it out of the log: --max-position "
            f"{without[0]} on the command line)"
        )


def _require_connected(weights: Floats) -> None:
    """Refuse positions that share no documents with position 1."""
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(weights > 0, directed=False)
    apart = np.flatnonzero(component != component[0])
    if len(apart):
        raise DataError(
            f"no document was shown at position {apart[0] + 1} and at a position that is linked to "
            "position 1: rank changes cannot tell its propensity"
        )
