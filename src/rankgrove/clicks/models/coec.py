"""Clicks over expected clicks (COEC), as OpenSearch's Search Relevance Workbench computes them."""

from __future__ import annotations

import numpy as np

from rankgrove.clicks.click_log import ClickLog
from rankgrove.clicks.click_model import ClickModelFit, beta_mean


def estimate(log: ClickLog, prior: float, max_iter: int) -> ClickModelFit:
    r"""Estimate :math:`r_{qd} = \frac{c_{qd} + a/2}{\sum_{i \in qd} \mathrm{ctr}_{k_i} + a/2}`.

    :math:`\mathrm{ctr}_k` is the click-through rate of position :math:`k` over all queries. A value
    of 1 is as many clicks as its positions get on average.
    """
    shown = log.sum_by_position(np.ones(log.n_rows))
    rate = beta_mean(log.sum_by_position(log.clicked), shown, prior)
    expected = log.sum_by_pair(rate[log.position - 1])
    clicks = log.sum_by_pair(log.clicked)
    total = expected + prior / 2
    relevance = np.where(total > 0, (clicks + prior / 2) / np.where(total > 0, total, 1), 1.0)
    return ClickModelFit("coec", relevance, expected, {"ctr_of_position": rate}, log)
