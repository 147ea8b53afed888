"""The regression forest."""

from __future__ import annotations

from rankgrove.rankers.declaration import ranker, with_default
from rankgrove.rankers.forest import ForestRanker


@ranker
class RandomForest(ForestRanker):
    """Regression forest (Mohan, Chen and Weinberger, *Web-Search Ranking with Initialized Gradient
    Boosted Regression Trees*, 2011, section 3).

    Every tree is grown to full depth on a bootstrap of the documents (as many as there are, drawn
    with replacement), with the squared error and K = 0.1 f features per node. The paper grows up to
    10,000 trees.
    """

    sampling: str = with_default(ForestRanker, "sampling", "documents")
    subsample: float | int = with_default(ForestRanker, "subsample", 1.0)
    max_features: int | float | str = with_default(ForestRanker, "max_features", 0.1)
