"""Click-through rate: clicks / impressions of a pair."""

from __future__ import annotations

import numpy as np

from rankgrove.clicks.click_log import ClickLog
from rankgrove.clicks.click_model import ClickModelFit, beta_mean


def estimate(log: ClickLog, prior: float, max_iter: int) -> ClickModelFit:
    r"""Estimate :math:`r_{qd} = \frac{c_{qd} + a/2}{n_{qd} + a}`, prior :math:`a`."""
    trials = log.sum_by_pair(np.ones(log.n_rows))
    relevance = beta_mean(log.sum_by_pair(log.clicked), trials, prior)
    return ClickModelFit("ctr", relevance, trials, {}, log)
