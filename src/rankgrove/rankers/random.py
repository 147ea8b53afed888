"""A random ranking, the lowest baseline."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.models.random import RandomModel
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.parameters import Choice
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.workers.row_shard import RowShard


@register_ranker("random", paper="baseline", optimises="nothing")
class RandomRanking(BaseRanker):
    r"""Ranks at random, reproducibly; it learns nothing.

    The score of a document is a number in [0, 1) made of the seed (``random_state``) and the
    document's own features,

    .. math:: s_d = h\Big(\sum_f h(x_{d,f}, f, \text{seed})\Big)

    with a uniform hash h. The score of a document does not depend on other documents or on their
    order, and a saved model repeats its scores; another seed gives another ranking. Documents with
    equal features get equal scores: use ``ties="average"`` (``endcg``) if there are many of them.
    The expected value of a metric is the mean over several seeds.
    """

    family: ClassVar[str] = "baseline"
    can_be_bagged: ClassVar[bool] = False
    takes_categories: ClassVar[bool] = True

    missing: str = param(
        "zero",
        Choice("zero", "mean", "median", "inf"),
        "what stands in for a missing value (NaN): 0, the mean or median of the training data, or "
        "+inf; it is part of the model and applied when predicting",
    )

    def _fill(self, data: RankingInput, shard: RowShard) -> npt.NDArray[np.float32] | None:
        """Return the fill values; a missing category hashes like a code that none has."""
        fill = super()._fill(data, shard)
        return None if fill is None else np.where(np.isnan(fill), np.float32(-1), fill)

    def _learn(self, fit: Fit) -> FitResult:
        assert fit.fill is not None
        columns = fit.data.columns
        keys = np.arange(columns.count, dtype=np.int64)
        model = RandomModel(
            columns=columns, absent=fit.data.absent, seed=fit.seed, fill=fit.fill, keys=keys
        )
        return FitResult(model)
