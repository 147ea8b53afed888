"""The dynamic Bayesian network (Chapelle and Zhang 2009), estimated by EM."""

from __future__ import annotations

import numpy as np

from rankgrove.clicks.click_log import ClickLog, Floats
from rankgrove.clicks.click_model import ClickModelFit, beta_mean

_TOLERANCE = 1e-6
_SMALL = 1e-9


def estimate(log: ClickLog, prior: float, max_iter: int) -> ClickModelFit:
    r"""Estimate attractiveness, satisfaction and perseverance; relevance is a product.

    A user examines the first document. An examined document is clicked with probability
    :math:`a_{qd}`; a click satisfies with :math:`s_{qd}` and ends the session; without
    satisfaction the user examines the next document with probability :math:`\gamma`.
    :math:`r_{qd} = a_{qd} s_{qd}`.

    After the last click nothing but the absence of clicks is known. With :math:`b_k`, the
    probability of no click from position :math:`k` on, given that :math:`k` is examined,

    .. math::
        b_k = (1 - a_k) (1 - \gamma + \gamma b_{k+1}), \quad b_{n+1} = 1,

    the E-step is: rows up to the last click :math:`m` are examined; satisfaction at :math:`m` has
    probability :math:`s_m / (s_m + (1 - s_m) (1 - \gamma + \gamma b_{m+1}))`; the next rows are
    examined with the ratio of the paths that go on.
    """
    rows = np.arange(log.n_rows)
    last_row = log.last_click[log.session]
    before, is_last = rows < last_row, rows == last_row
    clicks = log.sum_by_pair(log.clicked)
    attractiveness, satisfaction = np.full(log.n_pairs, 0.5), np.full(log.n_pairs, 0.5)
    perseverance = 0.9
    likelihood: list[float] = []
    for _ in range(max_iter):
        a, s = attractiveness[log.pair], satisfaction[log.pair]
        none_after = _no_click_after(log, a, perseverance)
        examined, satisfied, value = _expectations(log, a, s, perseverance, none_after)
        likelihood.append(value)
        went_on = _next(log, examined)
        may_go_on = np.where(before | is_last, 1 - np.where(is_last, satisfied, 0), examined)
        inner = _has_next(log)
        chances = np.array([went_on[inner].sum()]), np.array([may_go_on[inner].sum()])
        new_perseverance = float(_inside(beta_mean(*chances, prior))[0])
        trials = log.sum_by_pair(examined)
        new_attractiveness = _inside(beta_mean(clicks, trials, prior))
        new_satisfaction = _inside(beta_mean(log.sum_by_pair(satisfied), clicks, prior))
        change = max(
            np.abs(new_attractiveness - attractiveness).max(initial=0),
            np.abs(new_satisfaction - satisfaction).max(initial=0),
            abs(new_perseverance - perseverance),
        )
        attractiveness, satisfaction = new_attractiveness, new_satisfaction
        perseverance = new_perseverance
        if change < _TOLERANCE:
            break
    parameters = {
        "attractiveness": attractiveness,
        "satisfaction": satisfaction,
        "perseverance": perseverance,
    }
    return ClickModelFit("dbn", attractiveness * satisfaction, trials, parameters, log, likelihood)


def _inside(probabilities: Floats) -> Floats:
    """Keep probabilities away from 0 and 1, where the paths of a session may all vanish."""
    return np.clip(probabilities, _SMALL, 1 - _SMALL)


def _ranks(log: ClickLog) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return, rank by rank, the rows of that rank and their sessions."""
    sizes = np.diff(log.offsets)
    order = np.argsort(-sizes, kind="stable")
    counts = np.searchsorted(-sizes[order], -np.arange(1, sizes.max(initial=0) + 1), side="right")
    return [(log.offsets[order[:n]] + rank, order[:n]) for rank, n in enumerate(counts)]


def _has_next(log: ClickLog) -> np.ndarray:
    inner = np.ones(log.n_rows, bool)
    inner[log.offsets[1:] - 1] = False
    return inner


def _next(log: ClickLog, values: Floats) -> Floats:
    """Return the value of the next row of the session; 0 after its end."""
    return np.where(_has_next(log), np.r_[values[1:], 0.0], 0.0)


def _no_click_after(log: ClickLog, a: Floats, perseverance: float) -> Floats:
    """Return 1 - gamma + gamma * b of the next row: no click below a row that did not satisfy."""
    after = np.ones(log.n_rows)
    for rows, _ in reversed(_ranks(log)):
        inner = rows[_has_next(log)[rows]]
        below = inner + 1
        after[inner] = 1 - perseverance + perseverance * (1 - a[below]) * after[below]
    return after


def _expectations(
    log: ClickLog, a: Floats, s: Floats, perseverance: float, none_after: Floats
) -> tuple[Floats, Floats, float]:
    """Return P(examined), P(satisfied) of each row given the clicks, and the log-likelihood."""
    rows = np.arange(log.n_rows)
    last = log.last_click[log.session]
    is_last = rows == last
    examined = (rows <= last).astype(np.float64)
    stopped = s + (1 - s) * none_after
    satisfied = np.where(is_last, s / stopped, 0.0)
    first = log.offsets[:-1]
    examined[first] = 1.0
    for ranked, _ in _ranks(log)[1:]:
        hidden = ranked[ranked > last[ranked]]
        above = hidden - 1
        # P(this row examined, no click from it on | the row above examined and not satisfied)
        ratio = perseverance * (1 - a[hidden]) * none_after[hidden] / none_after[above]
        unsatisfied = np.where(is_last[above], 1 - satisfied[above], 1.0)
        examined[hidden] = examined[above] * unsatisfied * ratio
    before = rows < last
    chance = np.where(log.clicked > 0, a, 1 - a)
    go_on = perseverance * np.where(log.clicked > 0, 1 - s, 1.0)
    known = np.log(chance[before] * go_on[before]).sum()
    known += np.log(a[is_last] * stopped[is_last]).sum()
    silent = first[log.last_click < first]
    known += np.log((1 - a[silent]) * none_after[silent]).sum()
    return examined, satisfied, float(known)
