"""QueryCrossEntropy: logistic loss of labels in [0, 1], in part with the best shift per query."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.errors import LabelError


class ShiftedLogistic(Objective):
    r"""Logistic loss, in part after the best constant of each query is added to its scores.

    With :math:`\ell(s) = -\sum_d w_d (t_d \log \sigma(s_d) + (1 - t_d) \log(1 - \sigma(s_d)))`,

    .. math:: L_q = (1 - \alpha) \, \ell(s) + \alpha \min_b \ell(s + b).

    With :math:`p_d = \sigma(s_d)`, :math:`p'_d = \sigma(s_d + b_q)` at the best :math:`b_q`, and
    :math:`v_d = w_d p'_d (1 - p'_d)`,

    .. math::
        g_d = w_d \left( (1 - \alpha) (p_d - t_d) + \alpha (p'_d - t_d) \right), \quad
        h_d = (1 - \alpha) w_d p_d (1 - p_d) + \alpha v_d \left(1 - v_d / \textstyle\sum v\right).

    In a query whose targets are all 0 or all 1, the second part is 0.

    Parameters
    ----------
    alpha : part of the shifted loss, in [0, 1]
    max_grade : label that means probability 1
    """

    def __init__(self, data: TrainingData, alpha: float = 0.95, max_grade: float = 1.0) -> None:
        self.data = data
        self.alpha = alpha
        self.target = probabilities(data.y, max_grade)

    def base_score(self) -> Floats:
        """Return the log-odds of the mean target, with half a document more on either side."""
        return log_odds_of_mean(self.data, self.target)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        assert hessians is not None
        _native.shifted_logistic_gradients(
            self.data.offsets,
            scores[0],
            self.target,
            self.data.weight,
            self.alpha,
            self.data.n_threads,
            gradients[0],
            hessians[0],
        )


def log_odds_of_mean(data: TrainingData, target: Floats) -> Floats:
    """Return the log-odds of the mean target, with half a document more on either side."""
    weight = np.ones(data.n_documents) if data.weight is None else data.weight
    positive = data.shard.total(weight * target)
    negative = data.shard.total(weight * (1.0 - target))
    odds: Floats = np.log([(positive + 0.5) / (negative + 0.5)])
    return odds


def probabilities(y: Floats, max_grade: float, owner: str = "QueryCrossEntropy") -> Floats:
    """Return labels over ``max_grade``; a label outside [0, max_grade] is refused by its value."""
    outside = (y < 0) | (y > max_grade)
    if outside.any():
        label = float(y[outside.argmax()])
        hint = f"; max_grade={y.max():g} divides labels by it" if label > 0 else ""
        reason = f"is no probability: {owner} takes labels from 0 to {max_grade:g}{hint}"
        raise LabelError("label", label, reason)
    target: Floats = y / max_grade
    return target
