"""StochasticFilter: documents kept by the sign of their scores, in the order of the data."""

from __future__ import annotations

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.stochasticfilter import ExpectedFilteredDCG
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import Real
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "stochasticfilter",
    paper="CatBoost's StochasticFilter",
    optimises="DCG of a list in its given order, by leaving documents out",
)
class StochasticFilter(BoostedRanker):
    r"""Removal of documents from lists in a given order: CatBoost's StochasticFilter.

    Documents with a score of at least 0 are kept, in the order of the rows; the others are removed.
    The filtered DCG of a query is the sum of label / position over the documents that are kept. In
    training, document d is kept at random, with the probability
    :math:`p_d = 1 / (1 + e^{-\sigma s_d})`, and the expected filtered DCG is maximised:

    .. math::
        M = \sum_d p_d y_d \, \mathrm{E}\!\left[\frac{1}{1 + N_d}\right]
        = \int_0^1 \sum_d p_d y_d \prod_{c < d} (1 - p_c + p_c x) \, dx, \qquad
        g_d = -w_d \sigma p_d (1 - p_d) \frac{\partial M}{\partial p_d}, \quad
        h_d = \sigma |g_d|,

    where :math:`N_d` is the number of documents above d that are kept. This gradient is exact;
    CatBoost estimates it from ``num_estimations`` random filters, and leaves out the factor
    :math:`\sigma`. CatBoost also takes gradient steps, :math:`h_d = w_d`. They are as small as the
    gradients, and early stopping may end before a score changes its sign; with the Hessians above,
    leaf values reach up to :math:`1 / \sigma`. If labels are far below 1, lower ``l2``, which is
    added to the sums of Hessians. The metric ``filtered-dcg`` measures the result.

    The order of the rows of a query is part of the data: sort the rows as they are shown to users.
    Labels may be any real numbers; a document with a negative label lowers the filtered DCG if it
    is kept.
    """

    sigma: float = param(
        1.0,
        Real(1e-6, 1e6),
        "steepness of the probability to be kept; larger values approach a threshold at 0",
    )

    def _objective(self, data: TrainingData) -> Objective:
        return ExpectedFilteredDCG(data, sigma=self.sigma)
