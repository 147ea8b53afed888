"""KLMART: the distribution of gains against the softmax of the scores."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.metrics.arithmetic import Gain, gains_over_ideal, label_gains


class KullbackLeibler(Objective):
    r"""Cross entropy :math:`-\sum_i t_i \log p_i`, p the softmax of the query's scores.

    The target :math:`t` is the gains divided by their sum: up to a constant, the loss is then the
    Kullback-Leibler divergence. The form that is consistent with NDCG divides by the ideal DCG of
    the whole list instead (Ravikumar, Tewari and Yang, "On NDCG Consistency of Listwise Ranking
    Methods", 2011). With :math:`T = \sum_i t_i`,

    .. math:: g_i = T p_i - t_i, \qquad h_i = T p_i (1 - p_i).

    Queries without a relevant document have no target and are left out.

    Parameters
    ----------
    consistent : whether to divide by the ideal DCG (c-KLMART)
    gain : ``"exp"``, ``"linear"`` or a table of gains
    """

    def __init__(self, data: TrainingData, consistent: bool = False, gain: Gain = "exp") -> None:
        self.data = data
        gains = label_gains(data.y, gain)
        if consistent:
            self.target = gains_over_ideal(data.offsets, gains)
        else:
            query = data.query_of_document()
            sums = np.bincount(query, gains, data.n_queries)
            self.target = gains / np.where(sums > 0, sums, 1.0)[query]

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        assert hessians is not None
        _native.cross_entropy_gradients(
            self.data.offsets,
            scores[0],
            self.target,
            self.data.weight,
            1.0,
            0.0,
            self.data.n_threads,
            gradients[0],
            hessians[0],
        )
