"""RF-rand: trees whose splits do not look at the labels."""

from __future__ import annotations

from typing import Any

from rankgrove.rankers.declaration import ranker
from rankgrove.rankers.forest import ForestRanker
from rankgrove.rankers.inputs import RankingInput


@ranker
class RFRand(ForestRanker):
    """Completely randomised forest (Ibrahim and Carman 2016, section 6.1).

    A node is split on one random feature that is not constant there, at a threshold drawn uniformly
    between its smallest and its largest value; labels only fill the leaves. (Nodes of equal labels
    are not split further, because their children would answer the same.) The threshold is drawn up
    to the resolution of the bins. ``max_features`` and ``min_gain`` have no effect.
    """

    def _options(self, data: RankingInput) -> dict[str, Any]:
        return {**super()._options(data), "splitter": "random"}
