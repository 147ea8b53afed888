"""Extremely randomised trees."""

from __future__ import annotations

from dataclasses import replace

from rankgrove.forests.growing import Growth
from rankgrove.rankers.base.common_parameters import CRITERION
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "extra-trees",
    paper="Geurts and Louppe 2011",
    optimises="squared error, entropy or Gini at random thresholds",
)
class ExtraTrees(ForestRanker):
    """Extremely randomised trees (Geurts, Ernst and Wehenkel 2006; for ranking, Geurts and Louppe,
    *Learning to Rank with Extremely Randomized Trees*, 2011).

    A node draws K features and one threshold for each, uniformly between the smallest and the
    largest value (up to the resolution of the bins), and keeps the best of the K splits. Every tree
    is grown on all documents by default (``subsample``).
    """

    subsample: float | int = with_default(ForestRanker, "subsample", 1.0)
    criterion: str = param(
        "squared_error",
        CRITERION,
        "gain of a split: fall of the label entropy, of the Gini impurity or of the squared error",
    )

    def _growth(self, n_features: int) -> Growth:
        growth = super()._growth(n_features)
        return replace(growth, splitter="random-threshold", criterion=self.criterion)
