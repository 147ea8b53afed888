"""RF-hybrid: listwise splits near the root, pointwise splits below."""

from __future__ import annotations

from typing import Any

from rankgrove.rankers.declaration import param, ranker
from rankgrove.rankers.forest import UNLIMITED
from rankgrove.rankers.inputs import RankingInput
from rankgrove.rankers.parameters import AnyOf, Choice, Integer, Nothing
from rankgrove.rankers.rf_list import RFList


@ranker
class RFHybrid(RFList):
    """Forest of listwise and pointwise splits: RF-hybrid-Lx (Ibrahim and Carman 2016, section 4.4).

    The first ``listwise_levels`` levels of a tree are split as in RF-list, then the deeper ones as
    in RF-point. A node of the first levels where no listwise split gains is split as in RF-point,
    too, and its children are tried listwise again. With 0 levels it is RF-point, without limit
    (None) RF-list, which has no pointwise splits at all.
    """

    listwise_levels: int | None = param(
        6, AnyOf(Integer(0), Nothing()), "levels that are split listwise; None: all"
    )
    criterion: str = param(
        "entropy",
        Choice("entropy", "gini", "squared_error"),
        "gain of the pointwise splits",
    )

    def _options(self, data: RankingInput) -> dict[str, Any]:
        levels = UNLIMITED if self.listwise_levels is None else self.listwise_levels
        return {
            **super()._options(data),
            "listwise_levels": min(levels, UNLIMITED),
            "criterion": self.criterion,
        }
