"""Trust bias: users click documents at high positions although they are not relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankgrove._arguments import require_integer
from rankgrove.clicks.click_log import ClickLog, Floats
from rankgrove.errors import DataError

_LEAST = 1e-9
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class TrustBias:
    """Chances of a click by position: alpha r + beta for a document of relevance r.

    Attributes
    ----------
    alpha, beta : entry 0 is position 1
    support : impressions at each position of documents that were shown at several positions
    """

    alpha: Floats
    beta: Floats
    support: Floats

    def pairs(self) -> list[list[float]]:
        """Return (alpha, beta) of each position, as the parameter ``trust_bias`` of rankers."""
        return [[float(a), float(b)] for a, b in zip(self.alpha, self.beta, strict=True)]


def estimate_trust_bias(impressions: Any, *, max_iter: int = 500) -> TrustBias:
    r"""Estimate trust bias from documents that were shown at several positions, by EM.

    (Agarwal, Wang, Li, Bendersky and Najork, WWW 2019; Vardasbi, Oosterhuis and de Rijke, CIKM
    2020.) A user takes document d for relevant with probability :math:`r_d`, and clicks at
    position k with probability :math:`\zeta^+_k` or :math:`\zeta^-_k` if so or not. Then
    :math:`\alpha_k = \zeta^+_k - \zeta^-_k` and :math:`\beta_k = \zeta^-_k`. Clicks tell relevance
    up to a factor and a constant, the same for all documents: orders do not depend on them, nor do
    ratios of the :math:`\alpha_k`.

    Parameters
    ----------
    impressions : a LogTable of ``logs.read_impressions``, what it reads, or a ClickLog
    max_iter : iterations of EM at most; it stops earlier when no estimate changes by more than 1e-6
    """
    require_integer(max_iter, "max_iter", 1)
    log = ClickLog.of(impressions)
    log.require_clicks()
    place = log.position - 1
    shown, clicks = np.bincount(place), np.bincount(place, log.clicked)
    without = np.flatnonzero(clicks == 0)
    if len(without):
        raise DataError(f"position {without[0] + 1} has no click: its trust bias is not known")
    several = _shown_at_several(log)
    support = np.bincount(place, several[log.pair].astype(np.float64), len(shown))
    if (support == 0).any():
        raise DataError(
            f"no document was shown at position {int(support.argmin()) + 1} and at another one: "
            "trust bias cannot be told from relevance"
        )
    rate = clicks / shown
    high, low = np.minimum(1.5 * rate, 0.5 + rate / 2), 0.5 * rate
    impressions_of = log.sum_by_pair(np.ones(log.n_rows))
    relevance = (log.sum_by_pair(log.clicked / rate[place]) + 1) / (impressions_of + 2)
    relevance = np.clip(relevance / 2, 0.05, 0.95)
    for _ in range(max_iter):
        r = relevance[log.pair]
        yes = r * np.where(log.clicked > 0, high[place], 1 - high[place])
        no = (1 - r) * np.where(log.clicked > 0, low[place], 1 - low[place])
        posterior = yes / np.maximum(yes + no, _LEAST)
        relevance = log.sum_by_pair(posterior) / impressions_of
        before = np.r_[high, low]
        high = _share(place, posterior, log.clicked)
        low = _share(place, 1 - posterior, log.clicked)
        if np.abs(np.r_[high, low] - before).max() < _TOLERANCE:
            break
    if (high <= low).any():
        raise DataError(
            f"at position {int((high <= low).argmax()) + 1}, clicks do not follow relevance: there "
            "are too few impressions to estimate trust bias"
        )
    return TrustBias(high - low, low, support.astype(np.float64))


def _share(place: Any, weight: Floats, clicked: Floats) -> Floats:
    total = np.bincount(place, weight)
    shares = np.bincount(place, weight * clicked) / np.maximum(total, _LEAST)
    return np.clip(shares, _LEAST, 1 - _LEAST)


def _shown_at_several(log: ClickLog) -> Any:
    """Return which pairs were shown at more than one position."""
    lowest = np.full(log.n_pairs, np.iinfo(np.int64).max)
    highest = np.zeros(log.n_pairs, np.int64)
    np.minimum.at(lowest, log.pair, log.position)
    np.maximum.at(highest, log.pair, log.position)
    return highest > lowest
