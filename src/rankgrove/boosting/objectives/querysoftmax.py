"""QuerySoftMax: cross entropy between labels and the softmax of a query's scores."""

from __future__ import annotations

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.metrics.arithmetic import Gain, label_gains


class SoftmaxCrossEntropy(Objective):
    r"""Cross entropy :math:`-\sum_i t_i \log p_i`, p the softmax of :math:`\beta s`.

    The target t is the gain of each document, not divided by anything. With
    :math:`T = \sum_i t_i`,

    .. math:: g_i = \beta (T p_i - t_i), \qquad h_i = \beta T (\beta p_i (1 - p_i) + \lambda).

    Queries without a positive gain are left out.

    Parameters
    ----------
    beta : factor of the scores inside the softmax
    damping : the number lambda, which limits Newton steps where p is near 0 or 1
    gain : ``"linear"``, ``"exp"`` or a table of gains
    """

    def __init__(
        self, data: TrainingData, beta: float = 1.0, damping: float = 0.01, gain: Gain = "linear"
    ) -> None:
        self.data = data
        self.beta = beta
        self.damping = damping
        self.target = label_gains(data.y, gain)

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
            self.beta,
            self.damping,
            self.data.n_threads,
            gradients[0],
            hessians[0],
        )
