"""GroupQuantile: quantile loss of residuals minus their mean in the query."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData


class CentredQuantileLoss(Objective):
    r"""Quantile loss of residuals minus their mean in the query.

    With :math:`e_d = (y_d - s_d) - m_q`, where :math:`m_q` is the weighted mean of
    :math:`y_d - s_d` over the query, the loss is
    :math:`\sum_d w_d \max(\alpha e_d, (\alpha - 1) e_d)`, and with :math:`m_q` held fixed

    .. math::
        g_d = 2 b w_d \cdot \begin{cases}
        0 & |e_d| < \delta \\ -\alpha & e_d > 0 \\ 1 - \alpha & e_d < 0
        \end{cases}, \qquad h_d = w_d.

    b is the mean of :math:`|e_d|` at scores of 0, over the documents that have a weight: labels of
    another unit give scores of that unit. If the errors have Laplace's distribution of that scale,
    :math:`h_d` is the expected second derivative of the loss times 2b.

    Parameters
    ----------
    alpha : the quantile, in [0, 1]
    delta : errors below it count as 0
    """

    def __init__(self, data: TrainingData, alpha: float = 0.5, delta: float = 1e-6) -> None:
        if not 0 <= alpha <= 1:
            raise ValueError(f"alpha must lie in [0, 1], not {alpha!r}")
        if not delta >= 0:
            raise ValueError(f"delta must be at least 0, not {delta!r}")
        self.data = data
        self.alpha = alpha
        self.delta = delta
        self.constant_hessian = data.weight is None
        self.scale = np.float32(2 * mean_absolute_error(data) or 1.0)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients, and Hessians if documents are weighted."""
        out = gradients[0]
        weight = None if hessians is None else hessians[0]
        _native.centred_squared_error_gradients(
            self.data.offsets,
            scores[0],
            self.data.y,
            self.data.weight,
            self.data.n_threads,
            out,
            weight,
        )  # out is -w e, and the Hessian w
        weight = np.float32(1.0) if weight is None else weight
        inside = np.abs(out) < self.delta * weight
        steps = self.scale * np.float32(-self.alpha), self.scale * np.float32(1 - self.alpha)
        out[:] = weight * np.where(out < 0, *steps)
        out[inside] = 0.0


def mean_absolute_error(data: TrainingData) -> float:
    """Return the mean distance of the labels from their mean in the query, without weights of 0."""
    query = data.query_of_document()
    weight = np.ones(len(query)) if data.weight is None else data.weight
    sums, weights = (
        np.bincount(query, values, data.n_queries) for values in (weight * data.y, weight)
    )
    means = np.divide(sums, weights, where=weights > 0, out=np.zeros(data.n_queries))
    counted = weight > 0
    errors = np.where(counted, np.abs(data.y - means[query]), 0.0)
    return data.shard.total(errors) / max(data.shard.total(counted.astype(np.float64)), 1.0)
