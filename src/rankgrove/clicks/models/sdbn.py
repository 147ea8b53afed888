"""The simplified dynamic Bayesian network (Chapelle and Zhang 2009), in closed form."""

from __future__ import annotations

import numpy as np

from rankgrove.clicks.click_log import ClickLog
from rankgrove.clicks.click_model import ClickModelFit, beta_mean


def estimate(log: ClickLog, prior: float, max_iter: int) -> ClickModelFit:
    r"""Estimate attractiveness and satisfaction, whose product is the relevance.

    A user reads until a click satisfies, which is the last one: attractiveness :math:`a_{qd}` is
    the share of clicks among impressions at or above it (all impressions of a session without a
    click count), satisfaction :math:`s_{qd}` the share of the clicks that were the last of their
    session; :math:`r_{qd} = a_{qd} s_{qd}`.
    """
    rows = np.arange(log.n_rows)
    last = log.last_click[log.session]
    trials = log.sum_by_pair(log.above_last_click)
    clicks = log.sum_by_pair(log.clicked)
    attractiveness = beta_mean(clicks, trials, prior)
    satisfied = log.sum_by_pair((rows == last).astype(np.float64))
    satisfaction = beta_mean(satisfied, clicks, prior)
    parameters = {"attractiveness": attractiveness, "satisfaction": satisfaction}
    return ClickModelFit("sdbn", attractiveness * satisfaction, trials, parameters, log)
