"""RF-rand: trees whose splits do not depend on the labels."""

from __future__ import annotations

from dataclasses import replace

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.forests.growing import Growth
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    GROWN_TO_THE_END,
    IBRAHIM_SAMPLES,
    PaperSettings,
)
from rankgrove.rankers.base.registry import register_ranker

PAPERS = {
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, section 6.1",
        {
            **IBRAHIM_SAMPLES,
            "leaf_score": ("label", "equation 9"),
            **GROWN_TO_THE_END,
            **ALL_THRESHOLDS,
        },
    ),
}


@register_ranker(
    "rf-rand",
    paper="Ibrahim and Carman 2016",
    optimises="nothing: splits are random",
    papers=PAPERS,
)
class RFRand(ForestRanker):
    """Completely randomised forest (Ibrahim and Carman 2016, section 6.1).

    A node is split on one random feature that is not constant there, at a threshold drawn uniformly
    between its smallest and its largest value; labels only fill the leaves. (Nodes of equal labels
    are not split further, because their children would have equal values.) The threshold is drawn
    up to the resolution of the bins. ``max_features`` and ``min_gain`` have no effect and are
    refused.
    """

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = dict.fromkeys(("max_features", "min_gain"), "on splits that are random")
        return {**super()._unused_parameters(data), **unused}

    def _growth(self, n_features: int) -> Growth:
        return replace(super()._growth(n_features), splitter="random")
