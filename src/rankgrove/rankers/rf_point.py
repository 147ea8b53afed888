"""RF-point: a random forest that classifies documents and ranks by expected relevance."""

from __future__ import annotations

from typing import Any

from rankgrove.rankers.declaration import param, ranker
from rankgrove.rankers.forest import ForestRanker
from rankgrove.rankers.inputs import RankingInput
from rankgrove.rankers.parameters import Choice, Real


@ranker
class RFPoint(ForestRanker):
    """Pointwise random forest (Ibrahim and Carman, *Comparing Pointwise and Listwise Objective
    Functions for Random Forest based Learning-to-Rank*, 2016, section 4.2).

    Each tree is grown on a sub-sample of the queries. At a node, K features are drawn without
    replacement, and all their thresholds are tried; the split is the one with the largest
    information gain in the label. (If all drawn features are constant in the node, more are drawn,
    one at a time, until one is not.) A leaf answers the mean label of its documents.
    """

    criterion: str = param(
        "entropy",
        Choice("entropy", "gini", "squared_error"),
        "gain of a split: fall of the label entropy, of the Gini impurity or of the squared error",
    )
    threshold_fraction: float = param(
        1.0, Real(0, 1, above=True), "part of the thresholds of a feature that a node tries"
    )

    def _options(self, data: RankingInput) -> dict[str, Any]:
        return {
            **super()._options(data),
            "criterion": self.criterion,
            "threshold_fraction": self.threshold_fraction,
        }
