"""RF-point: a random forest that classifies documents and ranks by expected relevance."""

from __future__ import annotations

from dataclasses import replace

from rankgrove.forests.growing import Growth
from rankgrove.rankers.base.common_parameters import CRITERION
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    GROWN_TO_THE_END,
    IBRAHIM_FEATURES,
    IBRAHIM_SAMPLES,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Real
from rankgrove.rankers.base.registry import register_ranker

PAPERS = {
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, section 4.2",
        {
            **IBRAHIM_SAMPLES,
            **IBRAHIM_FEATURES,
            "criterion": ("entropy", "algorithm 3"),
            "leaf_score": ("label", "equation 9"),
            **GROWN_TO_THE_END,
            **ALL_THRESHOLDS,
        },
    ),
}


@register_ranker(
    "rf-point",
    paper="Ibrahim and Carman 2016",
    optimises="entropy of the labels",
    variants={"RF-point-S5": {"subsample": 0.05}, "RF-point-S30": {"subsample": 0.3}},
    papers=PAPERS,
)
class RFPoint(ForestRanker):
    """Pointwise random forest (Ibrahim and Carman, *Comparing Pointwise and Listwise Objective
    Functions for Random Forest based Learning-to-Rank*, 2016, section 4.2).

    Each tree is grown on a sub-sample of the queries. At a node, K features are drawn without
    replacement, and all their thresholds are tried; the split is the one with the largest
    information gain in the label. (If all drawn features are constant in the node, more are drawn,
    one at a time, until one is not.) The value of a leaf is the mean label of its documents.
    """

    criterion: str = param(
        "entropy",
        CRITERION,
        "gain of a split: fall of the label entropy, of the Gini impurity or of the squared error",
    )
    threshold_fraction: float = param(
        1.0, Real(0, 1, above=True), "share of the thresholds of a feature that a node tries"
    )

    def _growth(self, n_features: int) -> Growth:
        return replace(
            super()._growth(n_features),
            criterion=self.criterion,
            threshold_fraction=self.threshold_fraction,
        )
