"""RF-hybrid: listwise splits near the root, pointwise splits below."""

from __future__ import annotations

from dataclasses import replace

from rankgrove.forests.growing import Growth
from rankgrove.rankers.base.common_parameters import CRITERION
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import AnyOf, Integer, Nothing
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.rf_list import RFList


@register_ranker(
    "rf-hybrid",
    paper="Ibrahim and Carman 2016",
    optimises="NDCG itself, then entropy of the labels",
    variants={f"RF-hybrid-L{levels}": {"listwise_levels": levels} for levels in (4, 5, 6)},
)
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
        CRITERION,
        "gain of the pointwise splits",
    )

    def _growth(self, n_features: int) -> Growth:
        if self.node_order == "best-first" and self.listwise_levels:
            raise ValueError(
                f"parameter node_order of {type(self).__name__} must not be 'best-first' with "
                "listwise_levels above 0: gains of listwise and pointwise splits do not compare"
            )
        return replace(
            super()._growth(n_features),
            listwise_levels=self.listwise_levels,
            criterion=self.criterion,
        )
