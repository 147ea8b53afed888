"""StochasticFilter: documents kept at random by their scores, in the order of the data."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData


class ExpectedFilteredDCG(Objective):
    r"""Minus the expected DCG of the documents that a random filter keeps.

    Document d is kept with the probability :math:`p_d = 1 / (1 + e^{-\sigma s_d})`, independently
    of the others, and the kept ones are shown in the order of the data. The filtered DCG is the sum
    of label / position over the kept documents. Its expectation is

    .. math::
        M = \int_0^1 \sum_d p_d y_d \prod_{c < d} (1 - p_c + p_c x) \, dx, \qquad
        g_d = -w_d \sigma p_d (1 - p_d) \frac{\partial M}{\partial p_d}, \qquad
        h_d = \sigma |g_d|.

    The integral is computed exactly up to rounding, in O(n log n) for n documents. The second
    derivative has both signs; with :math:`h_d`, no leaf value exceeds :math:`1 / \sigma`, and
    without ``l2`` the unit of the labels has no effect.

    Parameters
    ----------
    sigma : steepness of the probability to be kept
    """

    def __init__(self, data: TrainingData, sigma: float = 1.0) -> None:
        self.data = data
        self.sigma = sigma

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        _native.stochasticfilter_gradients(
            self.data.offsets,
            scores[0],
            self.data.y,
            self.sigma,
            self.data.weight,
            self.data.n_threads,
            gradients[0],
        )
        assert hessians is not None
        np.abs(gradients[0], out=hessians[0])
        hessians[0] *= np.float32(self.sigma)
