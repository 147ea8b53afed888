"""Propensities by regression EM: relevance by trees of features, examination by position."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankgrove._arguments import require_integer
from rankgrove.clicks.click_log import Floats
from rankgrove.clicks.propensities import Propensities
from rankgrove.data.core.dataset import Dataset
from rankgrove.errors import DataError
from rankgrove.rankers.base.estimator import BaseRanker

_LEAST = 1e-6
_INNER_STEPS = 20  # steps of EM on examination alone, between two regressions
_TOLERANCE = 1e-4


def propensities_by_regression(
    data: Dataset, *, ranker: BaseRanker | None = None, max_iter: int = 30
) -> Propensities:
    r"""Estimate propensities where documents have features, also from one ranker's log.

    Wang, Golbandi, Bendersky, Metzler and Najork, *Position bias estimation for unbiased learning
    to rank in personal search*, WSDM 2018. A click needs examination, with probability
    :math:`\theta_k` at position k, and relevance, with probability :math:`\gamma(x)`. EM takes
    turns: without a click,

    .. math::
        P(E = 1) = \frac{\theta_k (1 - \gamma)}{1 - \theta_k \gamma}, \quad
        P(R = 1) = \frac{(1 - \theta_k) \gamma}{1 - \theta_k \gamma}

    (with one, both are 1); :math:`\theta_k` becomes the mean of P(E = 1) at position k, and
    :math:`\gamma` a regression of P(R = 1) on the features. Positions and features must not tell
    the same: where the features determine the position (no exploration, no other rankers), bias
    and relevance cannot be told apart, and no method can.

    Parameters
    ----------
    data : one row per impression: features, clicks as labels, and positions
    ranker : regression of numbers in [0, 1]; by default MART with 50 trees of 8 leaves
    max_iter : regressions at most; it stops earlier when no propensity changes by more than 1e-4
    """
    if not isinstance(data, Dataset) or data.position is None:
        raise DataError(
            "propensities_by_regression needs a Dataset with positions: rankgrove.load(..., "
            "label='clicked', position='position')"
        )
    require_integer(max_iter, "max_iter", 1)
    clicked = data.y
    if not np.isin(clicked, (0.0, 1.0)).all() or not clicked.any():
        raise DataError("propensities need clicks: labels of 0 and 1, and some of them 1")
    place = data.position - 1
    shown = np.bincount(place)
    if (shown == 0).any():
        raise DataError(f"nothing was shown at position {int(shown.argmin()) + 1}")
    clicks = np.bincount(place, clicked)
    if (clicks == 0).any():
        raise DataError(
            f"position {int(clicks.argmin()) + 1} has no click: its propensity cannot be estimated"
        )
    model = _default() if ranker is None else ranker
    examination = clicks / shown / (clicks / shown).max() * (1 - _LEAST)
    relevance = np.full(len(clicked), min(2 * float(clicked.mean()), 0.5))
    for _ in range(max_iter):
        before = examination
        hidden = relevance * (1 - examination[place]) / (1 - examination[place] * relevance)
        relevance = _regression(model, data, np.where(clicked > 0, 1.0, hidden))
        for _ in range(_INNER_STEPS):
            chance = examination[place]
            seen = chance * (1 - relevance) / (1 - chance * relevance)
            examination = np.bincount(place, np.where(clicked > 0, 1.0, seen)) / shown
        # Only products of both are known: examination is 1 at its largest, which is faster, too.
        scale = examination.max() / (1 - _LEAST)
        examination, relevance = examination / scale, np.minimum(relevance * scale, 1 - _LEAST)
        if np.abs(examination - before).max() < _TOLERANCE:
            break
    relative = examination / examination[0]
    return Propensities(relative, shown.astype(np.float64), "regression EM")


def _default() -> BaseRanker:
    from rankgrove.rankers.mart import MART

    return MART(n_estimators=50, learning_rate=0.2, max_leaf_nodes=8, random_state=0)


def _regression(model: BaseRanker, data: Dataset, target: Floats) -> Floats:
    """Return the fitted relevance of each row."""
    from sklearn.base import clone

    fitted: Any = clone(model).fit(data.matrix, target, group_sizes=[data.n_rows])
    scores: Floats = fitted.predict(data.matrix)
    return np.clip(scores, _LEAST, 1 - _LEAST)
