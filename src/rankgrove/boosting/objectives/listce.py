"""ListCE: the regression-compatible listwise loss, whose scores are log-odds of relevance."""

from __future__ import annotations

import numpy as np

from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.boosting.objectives.querycrossentropy import log_odds_of_mean, probabilities


class RegressionCompatible(Objective):
    r"""Logistic loss of every document, and cross entropy of the normalised probabilities.

    With targets t in [0, 1], :math:`p_i = \sigma(s_i)`, :math:`q_i = p_i / \sum_j p_j` and
    :math:`\bar t_i = t_i / \sum_j t_j`,

    .. math::
        L = -(1 - \alpha) \sum_i \left( t_i \log p_i + (1 - t_i) \log(1 - p_i) \right)
            - \alpha \sum_i \bar t_i \log q_i,

    .. math:: g_i = (1 - \alpha) (p_i - t_i) + \alpha (q_i - \bar t_i) (1 - p_i).

    Both parts are least where :math:`p = t`. The Hessian is the diagonal without its negative term,

    .. math::
        h_i = (1 - \alpha) p_i (1 - p_i)
            + \alpha \left( q_i (1 - q_i) (1 - p_i)^2 + \bar t_i p_i (1 - p_i) \right).

    In a query without a positive target the second part is 0. A document's weight multiplies its
    gradient and Hessian.

    Parameters
    ----------
    alpha : part of the listwise loss, in [0, 1]
    max_grade : label that means probability 1
    """

    def __init__(self, data: TrainingData, alpha: float = 0.5, max_grade: float = 1.0) -> None:
        self.data = data
        self.alpha = alpha
        self.target = probabilities(data.y, max_grade, "ListCE")
        sizes = np.diff(data.offsets)
        self._starts = data.offsets[:-1][sizes > 0]
        self._sizes = sizes[sizes > 0]
        total = self._per_query(self.target)
        share = np.divide(self.target, total, out=np.zeros_like(self.target), where=total > 0)
        self._share = share
        self._counts = (total > 0).astype(np.float64)

    def _per_query(self, values: Floats) -> Floats:
        """Return the sum over its query, for every document."""
        if not len(self._starts):
            return np.zeros(0)
        return np.repeat(np.add.reduceat(values, self._starts), self._sizes)

    def base_score(self) -> Floats:
        """Return the log-odds of the mean target, with half a document more on either side."""
        return log_odds_of_mean(self.data, self.target)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        from scipy.special import expit, log_expit

        assert hessians is not None
        p = np.asarray(expit(scores[0]))
        rest = np.asarray(expit(-scores[0]))  # 1 - p, without cancellation
        log_p = np.asarray(log_expit(scores[0]))
        highest = (
            np.repeat(np.maximum.reduceat(log_p, self._starts), self._sizes)
            if len(self._starts)
            else log_p
        )
        relative = np.exp(log_p - highest)  # the largest is 1: sums do not vanish
        q = relative / self._per_query(relative)
        listwise = self.alpha * self._counts
        g = (1 - self.alpha) * (p - self.target) + listwise * (q - self._share) * rest
        h = (1 - self.alpha) * p * rest
        h += listwise * (q * (1 - q) * rest**2 + self._share * p * rest)
        weight = 1.0 if self.data.weight is None else self.data.weight
        gradients[0], hessians[0] = weight * g, weight * h
