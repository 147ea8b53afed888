"""QueryRMSE: squared error centred per query."""

from __future__ import annotations

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData


class CentredSquaredError(Objective):
    r"""Squared error of residuals minus their mean in the query.

    With the residuals :math:`r_d = s_d - y_d` and their weighted mean
    :math:`m_q = \sum_{d \in q} w_d r_d / \sum_{d \in q} w_d`,

    .. math::
        L = \frac12 \sum_q \sum_{d \in q} w_d (r_d - m_q)^2, \qquad
        g_d = w_d (r_d - m_q), \qquad h_d = w_d.

    A constant added to the scores or to the labels of a query changes nothing.
    """

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self.constant_hessian = data.weight is None

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients, and Hessians if documents are weighted."""
        _native.centred_squared_error_gradients(
            self.data.offsets,
            scores[0],
            self.data.y,
            self.data.weight,
            self.data.n_threads,
            gradients[0],
            None if hessians is None else hessians[0],
        )
