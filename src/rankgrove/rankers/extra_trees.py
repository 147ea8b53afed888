"""Extremely randomised trees."""

from __future__ import annotations

from typing import Any

from rankgrove.rankers.declaration import param, ranker, with_default
from rankgrove.rankers.forest import ForestRanker
from rankgrove.rankers.inputs import RankingInput
from rankgrove.rankers.parameters import Choice


@ranker
class ExtraTrees(ForestRanker):
    """Extremely randomised trees (Geurts, Ernst and Wehenkel 2006; for ranking, Geurts and Louppe,
    *Learning to Rank with Extremely Randomized Trees*, 2011).

    A node draws K features and one threshold for each, uniformly between the smallest and the
    largest value (up to the resolution of the bins), and keeps the best of the K splits. Every tree
    sees the whole data unless ``subsample`` says otherwise.
    """

    subsample: float | int = with_default(ForestRanker, "subsample", 1.0)
    criterion: str = param(
        "squared_error",
        Choice("entropy", "gini", "squared_error"),
        "gain of a split: fall of the label entropy, of the Gini impurity or of the squared error",
    )

    def _options(self, data: RankingInput) -> dict[str, Any]:
        return {
            **super()._options(data),
            "splitter": "random-threshold",
            "criterion": self.criterion,
        }
