"""RF-hybrid: listwise splits near the root, pointwise splits below."""

from __future__ import annotations

from dataclasses import replace

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.forests.growing import Growth
from rankgrove.rankers.base.common_parameters import CRITERION
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    GROWN_TO_THE_END,
    IBRAHIM_FEATURES,
    IBRAHIM_SAMPLES,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import AnyOf, Flag, Integer, Nothing
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.rf_list import RFList

PAPERS = {
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, section 4.4",
        {
            **IBRAHIM_SAMPLES,
            **IBRAHIM_FEATURES,
            "metric": ("ndcg", "equations 11 to 13, without a cut-off"),
            "node_order": ("breadth-first", "section 4.3.3"),
            "criterion": ("entropy", "section 4.4.3: the rest is pointwise"),
            "listwise_levels": (6, "table VIII: RF-hybrid-L6"),
            "fallback": (False, "no pointwise split on listwise levels is described"),
            "leaf_score": ("label", "equation 9"),
            **GROWN_TO_THE_END,
            **ALL_THRESHOLDS,
        },
    ),
}


@register_ranker(
    "rf-hybrid",
    paper="Ibrahim and Carman 2016",
    optimises="NDCG itself, then entropy of the labels",
    variants={f"RF-hybrid-L{levels}": {"listwise_levels": levels} for levels in (4, 5, 6)},
    papers=PAPERS,
)
class RFHybrid(RFList):
    """Forest of listwise and pointwise splits: RF-hybrid-Lx (Ibrahim and Carman 2016, section 4.4).

    The first ``listwise_levels`` levels of a tree are split as in RF-list, then the deeper ones as
    in RF-point. A node of the first levels where no listwise split gains is split as in RF-point,
    too, and its children are tried listwise again (``fallback``); with ``fallback=False`` such a
    node is a leaf, as the paper's rule for not splitting a node says (section 4.1.3). With 0 levels
    it is RF-point, without limit (None) RF-list, which has no pointwise splits at all.
    """

    listwise_levels: int | None = param(
        6, AnyOf(Integer(0), Nothing()), "levels that are split listwise; None: all"
    )
    fallback: bool = param(
        True,
        Flag(),
        "whether a node of the listwise levels where no listwise split gains is split pointwise, "
        "or stays a leaf",
    )
    criterion: str = param(
        "entropy",
        CRITERION,
        "gain of the pointwise splits",
    )

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = super()._unused_parameters(data)
        if not self.listwise_levels:
            levels = "all" if self.listwise_levels is None else "no"
            unused["fallback"] = f"where {levels} levels are split listwise"
        return unused

    def _growth(self, n_features: int) -> Growth:
        if self.node_order == "best-first" and self.listwise_levels:
            raise ValueError(
                f"parameter node_order of {type(self).__name__} must not be 'best-first' with "
                "listwise_levels above 0: gains of listwise and pointwise splits do not compare"
            )
        return replace(
            super()._growth(n_features),
            listwise_levels=self.listwise_levels,
            fallback=self.fallback,
            criterion=self.criterion,
        )
