"""A random ranking: what every ranker must beat."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rankgrove.models.random import RandomModel
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.parameters import Choice
from rankgrove.rankers.base.registry import register_ranker


@register_ranker("random", paper="baseline", optimises="nothing")
class RandomRanking(BaseRanker):
    r"""Ranks at random, reproducibly; it learns nothing.

    The score of a document is a number in [0, 1) made of the seed (``random_state``) and the
    document's own features,

    .. math:: s_d = h\Big(\sum_f h(x_{d,f}, f, \text{seed})\Big)

    with a hash h that spreads evenly. So a document has the same score whatever other documents
    come with it and in whatever order, as with nearly every ranker, and a saved model repeats its
    scores; another seed gives another ranking. Documents with equal features, which no ranker can
    tell apart, get equal scores: measure with ``ties="average"`` (``endcg``) where there are many
    of them. For the expected value of a metric, take the mean over several seeds.
    """

    family: ClassVar[str] = "baseline"

    missing: str = param(
        "zero",
        Choice("zero", "mean", "median", "inf"),
        "what stands in for a missing value (NaN): 0, the mean or median of the training data, or "
        "+inf; it is part of the model and applied when predicting",
    )

    def _learn(self, fit: Fit) -> FitResult:
        assert fit.fill is not None
        columns = fit.data.columns
        keys = np.arange(columns.count, dtype=np.int64)
        model = RandomModel(
            columns=columns, absent=fit.data.absent, seed=fit.seed, fill=fit.fill, keys=keys
        )
        return FitResult(model)
