"""The user browsing model (Dupret and Piwowarski 2008), estimated by EM."""

from __future__ import annotations

import numpy as np

from rankgrove.clicks.click_log import ClickLog, Ints
from rankgrove.clicks.click_model import ClickModelFit
from rankgrove.clicks.models.pbm import examination_em


def estimate(log: ClickLog, prior: float, max_iter: int) -> ClickModelFit:
    r"""Estimate :math:`P(c_k = 1) = \theta_{k j} r_{qd}`.

    Examination depends on the position :math:`k` and on that of the click before it, :math:`j`
    (0 if there is none). ``parameters["examination"]`` is the matrix :math:`\theta` of k - 1 and j.
    """
    previous = previous_click(log)
    depth = int(log.position.max(initial=0)) + 1
    relevance, examination, likelihood = examination_em(
        log, (log.position - 1) * depth + previous, prior, max_iter
    )
    whole = np.zeros(depth * (depth - 1))
    whole[: len(examination)] = examination
    trials = log.sum_by_pair(examination[(log.position - 1) * depth + previous])
    parameters = {"examination": whole.reshape(depth - 1, depth)}
    return ClickModelFit("ubm", relevance, trials, parameters, log, likelihood)


def previous_click(log: ClickLog) -> Ints:
    """Return the position of the last click above each row, 0 if there is none."""
    rows = np.where(log.clicked > 0, np.arange(log.n_rows), -1)
    last = np.maximum.accumulate(np.r_[-1, rows[:-1]]) if log.n_rows else rows
    starts = log.offsets[:-1][log.session]
    inside = last >= starts
    return np.where(inside, log.position[np.where(inside, last, 0)], 0)
