"""The position-based model (Richardson et al. 2007), estimated by EM."""

from __future__ import annotations

import numpy as np

from rankgrove.clicks.click_log import ClickLog, Floats, Ints
from rankgrove.clicks.click_model import ClickModelFit, beta_mean

_TOLERANCE = 1e-6
_SMALL = 1e-12


def estimate(log: ClickLog, prior: float, max_iter: int) -> ClickModelFit:
    r"""Estimate :math:`P(c = 1) = \theta_k r_{qd}`: examination by position, relevance by pair.

    E-step for a row without a click: :math:`P(R = 1) = \frac{(1 - \theta) r}{1 - \theta r}`,
    :math:`P(E = 1) = \frac{\theta (1 - r)}{1 - \theta r}`; both are 1 with a click. M-step: their
    means. Only products are identified: examination is scaled to 1 at the position where it is
    largest.
    """
    relevance, examination, likelihood = examination_em(log, log.position - 1, prior, max_iter)
    scale = examination.max()
    examined = log.sum_by_pair(np.minimum(examination[log.position - 1] / scale, 1))
    return ClickModelFit(
        "pbm",
        np.minimum(relevance * scale, 1),
        examined,
        {"examination": examination / scale},
        log,
        likelihood,
    )


def examination_em(
    log: ClickLog, context: Ints, prior: float, max_iter: int
) -> tuple[Floats, Floats, list[float]]:
    """Run EM for P(c = 1) = examination[context] * relevance[pair].

    Returns relevance, examination and the log-likelihood before each iteration.
    """
    n_contexts = int(context.max(initial=-1)) + 1
    shown = np.bincount(context, minlength=n_contexts).astype(np.float64)
    trials = log.sum_by_pair(np.ones(log.n_rows))
    relevance, examination = np.full(log.n_pairs, 0.5), np.full(n_contexts, 0.5)
    likelihood: list[float] = []
    no_click = 1 - log.clicked
    for _ in range(max_iter):
        r, e = relevance[log.pair], examination[context]
        clicked = np.clip(r * e, _SMALL, 1 - _SMALL)
        likelihood.append(float(np.log(np.where(log.clicked > 0, clicked, 1 - clicked)).sum()))
        attractive = log.clicked + no_click * (1 - e) * r / (1 - clicked)
        examined = log.clicked + no_click * e * (1 - r) / (1 - clicked)
        new_relevance = beta_mean(log.sum_by_pair(attractive), trials, prior)
        by_context = np.asarray(np.bincount(context, examined, n_contexts), np.float64)
        new_examination = beta_mean(by_context, shown, prior)
        change = max(
            np.abs(new_relevance - relevance).max(initial=0),
            np.abs(new_examination - examination).max(initial=0),
        )
        relevance, examination = new_relevance, new_examination
        if change < _TOLERANCE:
            break
    return relevance, examination, likelihood
