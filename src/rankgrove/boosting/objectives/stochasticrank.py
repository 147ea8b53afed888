"""StochasticRank: the gradient of a metric that Gaussian noise on the scores smooths."""

from __future__ import annotations

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData
from rankgrove.boosting.objectives.lambdamart import metric_values, refuse_metric
from rankgrove.metrics.arithmetic import Gain, discounts, label_gains


class SmoothedMetric(Objective):
    r"""Minus a metric M of scores with Gaussian noise.

    (Ustimenko and Prokhorenkova, "StochasticRank: Global Optimization of Scale-Free Discrete
    Functions", 2020.) The loss of a query is
    :math:`-\mathrm{E}\, M(s - \sigma \mu y + \sigma \varepsilon)`, :math:`\varepsilon` standard
    normal. Its gradient is estimated by coordinate conditional sampling: given the noise of the
    other documents of a query of n, up to a common constant, the score of document j is normal
    around :math:`m_j = s_j - \sigma \mu y_j + \sigma \, \mathrm{mean}_{i \neq j}(\varepsilon_i)`
    with the standard deviation :math:`\tau = \sigma \sqrt{n / (n - 1)}`, and

    .. math::
        g_j = -\sum_{i \neq j} \left( M_{ji} - M_{ij} \right)
        \frac{1}{\tau} \varphi\!\left( \frac{z_i - m_j}{\tau} \right),

    where z are the scores with noise, :math:`\varphi` is the standard normal density, and
    :math:`M_{ji} - M_{ij}` is the change of the metric when j moves from just below i to just above
    it. The gradient is the mean over ``n_permutations`` draws. Then its mean over the query is
    subtracted and, in queries of more than two documents, the share ``sfa`` of its part along the
    centred scores :math:`\bar s` (scale-free acceleration):

    .. math:: g \mathrel{-}= \mathit{sfa} \, \frac{g^T \bar s}{(\|\bar s\| + \nu)^2} \, \bar s.

    Hessians are the weights of the documents.

    Parameters
    ----------
    metric, k, gain, relevant_from, max_grade : as in LambdaMART; metric may also be ``"dcg"``
    sigma : standard deviation of the noise
    mu : how far below its score a document is ranked, in units of sigma, per unit of its label
    nu : added to the norm of the centred scores
    sfa : share of the gradient along the scores that is subtracted
    n_permutations : draws of the noise per query and iteration
    """

    def __init__(
        self,
        data: TrainingData,
        metric: str = "ndcg",
        k: int | None = None,
        sigma: float = 1.0,
        mu: float = 0.0,
        nu: float = 0.01,
        sfa: float = 1.0,
        n_permutations: int = 10,
        gain: Gain = "exp",
        relevant_from: float = 1.0,
        max_grade: float | None = None,
    ) -> None:
        self.data = data
        self.sigma = sigma
        self.nu = nu
        self.sfa = sfa
        self.n_permutations = n_permutations
        self.constant_hessian = data.weight is None
        self.penalty = sigma * mu * data.y
        if metric == "dcg":
            self.value: Floats32 = label_gains(data.y, gain).astype(np.float32)
        else:
            refuse_metric(metric, k)
            self.value = metric_values(data, metric, k, gain, relevant_from, max_grade)
        self.metric = "ndcg" if metric == "dcg" else metric
        longest = int(np.diff(data.offsets).max(initial=0))
        discount = (
            discounts("log2", longest) if self.metric == "ndcg" else 1 / np.arange(1.0, longest + 1)
        )
        discount[k or longest :] = 0.0
        self.discount_drop: Floats = (discount - np.append(discount[1:], 0.0))[:k]

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients, and Hessians if documents are weighted; draws depend on the query."""
        _native.stochasticrank_gradients(
            self.data.offsets,
            scores[0],
            self.value,
            self.penalty,
            self.discount_drop,
            self.metric,
            self.sigma,
            self.nu,
            self.sfa,
            self.n_permutations,
            self.data.weight,
            self.data.seed,
            iteration,
            self.data.shard.first_query,
            self.data.n_threads,
            gradients[0],
        )
        if hessians is not None:
            hessians[0] = self.data.weight
