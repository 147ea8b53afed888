"""XE-NDCG: a cross entropy that bounds NDCG."""

from __future__ import annotations

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.metrics.arithmetic import Gain, label_gains


class CrossEntropyNDCG(Objective):
    r"""Cross entropy between a random target and the softmax p of a query's scores.

    (Bruch, "An Alternative Cross Entropy Loss for Learning-to-Rank", 2021.) Each iteration draws
    :math:`\gamma_i \in [0, 1)` for every document; the target is :math:`t_i \propto 2^{y_i} -
    \gamma_i`, in terms of a gain :math:`G_i + 1 - \gamma_i`. The plain gradient :math:`g = p - t`
    with :math:`h = p (1 - p)` ignores how the scores of a list depend on each other. Two correction
    terms, Jacobi steps towards the Newton direction of the full Hessian diag(p) - pp', repair most
    of that:

    .. math::
        g^{(1)}_i = p_i - t_i, \quad
        g^{(k+1)}_i = p_i \sum_{j \ne i} \frac{g^{(k)}_j}{1 - p_j}, \quad
        g = g^{(1)} + g^{(2)} + g^{(3)},

    where :math:`1 - p_j` counts as at least 0.001. Queries whose gains are all equal have no order
    to learn and are left out.

    Parameters
    ----------
    terms : 1 for the plain gradient, 2 or 3 for the corrected one
    gain : ``"exp"``, ``"linear"`` or a table of gains
    """

    def __init__(self, data: TrainingData, terms: int = 3, gain: Gain = "exp") -> None:
        self.data = data
        self.terms = terms
        self.gains = label_gains(data.y, gain)

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians; the draws depend on seed, iteration and query alone."""
        assert hessians is not None
        _native.cross_entropy_ndcg_gradients(
            self.data.offsets,
            scores[0],
            self.gains,
            self.data.weight,
            self.data.seed,
            iteration,
            self.data.shard.first_query,
            self.terms,
            self.data.n_threads,
            gradients[0],
            hessians[0],
        )
