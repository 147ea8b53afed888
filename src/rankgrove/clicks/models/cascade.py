"""The cascade model (Craswell et al. 2008): a user reads from the top to the first click."""

from __future__ import annotations

import numpy as np

from rankgrove.clicks.click_log import ClickLog
from rankgrove.clicks.click_model import ClickModelFit, beta_mean


def estimate(log: ClickLog, prior: float, max_iter: int) -> ClickModelFit:
    r"""Estimate the share of first clicks among impressions at or above the first click.

    :math:`r_{qd} = P(A_{qd})`, :math:`P(c_k = 1) = r_k \prod_{j<k} (1 - r_j)`. Clicks after the
    first one are not explained by the model and not used.
    """
    rows = np.arange(log.n_rows)
    first = log.first_click[log.session]
    examined = (rows <= first).astype(np.float64)
    trials = log.sum_by_pair(examined)
    clicks = log.sum_by_pair(log.clicked * examined)
    return ClickModelFit("cascade", beta_mean(clicks, trials, prior), trials, {}, log)
