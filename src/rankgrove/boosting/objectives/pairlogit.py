"""PairLogit: pairwise logistic loss over all pairs."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData


class PairwiseLogistic(Objective):
    r"""Logistic loss of all pairs of a query whose labels differ.

    .. math:: L_q = \sum_{y_i > y_j} (y_i - y_j)^a \log \left(1 + e^{s_j - s_i}\right)

    With :math:`\rho = 1 / (1 + e^{s_i - s_j})` and :math:`v = (y_i - y_j)^a`, a pair adds
    :math:`-v\rho` to :math:`g_i`, :math:`v\rho` to :math:`g_j`, and :math:`v \rho (1 - \rho)` to
    both Hessians.

    Parameters
    ----------
    difference_power : the exponent a; 0 weighs all pairs alike
    """

    def __init__(self, data: TrainingData, difference_power: float = 0.0) -> None:
        self.data = data
        self.power = difference_power
        query = data.query_of_document()
        by_label = np.lexsort((-data.y, query))
        self.order = (by_label - data.offsets[query]).astype(np.int32)
        self.labels = data.y
        if difference_power == 0:  # only the order of labels counts: ranks are exact
            self.labels = np.unique(data.y, return_inverse=True)[1].astype(np.float64)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        assert hessians is not None
        _native.pair_logit_gradients(
            self.data.offsets,
            scores[0],
            self.labels,
            self.order,
            self.data.weight,
            self.power,
            self.data.n_threads,
            gradients[0],
            hessians[0],
        )
