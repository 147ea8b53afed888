"""The dependent click model (Guo et al. 2009): after a click, a user goes on with a probability."""

from __future__ import annotations

import numpy as np

from rankgrove.clicks.click_log import ClickLog
from rankgrove.clicks.click_model import ClickModelFit, beta_mean


def estimate(log: ClickLog, prior: float, max_iter: int) -> ClickModelFit:
    r"""Estimate the share of clicks among impressions at or above the last click.

    :math:`r_{qd}` is that share (all impressions of a session without a click count), and the
    continuation :math:`\lambda_k` of position :math:`k` the share of its clicks that were not the
    last of their session.
    """
    rows = np.arange(log.n_rows)
    last = log.last_click[log.session]
    trials = log.sum_by_pair(log.above_last_click)
    relevance = beta_mean(log.sum_by_pair(log.clicked), trials, prior)
    clicks = log.sum_by_position(log.clicked)
    went_on = log.sum_by_position(log.clicked * (rows != last))
    continuation = beta_mean(went_on, clicks, prior)
    return ClickModelFit("dcm", relevance, trials, {"continuation": continuation}, log)
