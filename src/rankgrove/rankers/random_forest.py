"""The regression forest."""

from __future__ import annotations

from rankgrove.rankers.base.declaration import with_default
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.registry import register_ranker


@register_ranker(
    "rf",
    paper="Mohan, Chen and Weinberger 2011",
    optimises="squared error of the label",
)
class RandomForest(ForestRanker):
    """Regression forest (Mohan, Chen and Weinberger, *Web-Search Ranking with Initialized Gradient
    Boosted Regression Trees*, 2011, section 3).

    Every tree is grown to full depth on a bootstrap of the documents (as many as there are, drawn
    with replacement), with the squared error and K = 0.1 f features per node. The paper grows up to
    10,000 trees.
    """

    sampling: str = with_default(ForestRanker, "sampling", "bootstrap")
    subsample: float | int = with_default(ForestRanker, "subsample", 1.0)
    max_features: int | float | str = with_default(ForestRanker, "max_features", 0.1)
