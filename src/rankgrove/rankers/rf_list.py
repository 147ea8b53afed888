"""RF-list: a random forest whose splits raise the ranking metric itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.forests.growing import Growth
from rankgrove.forests.listwise_metric import (
    ListwiseMetric,
    as_listwise_metric,
    is_listwise_metric,
    listwise_metric,
)
from rankgrove.rankers.base.common_parameters import TABLE
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.parameters import AnyOf, Nothing, Real, Satisfies
from rankgrove.rankers.base.registry import register_ranker

_TABLE = AnyOf(Nothing(), TABLE)


@register_ranker(
    "rf-list",
    paper="Ibrahim and Carman 2016",
    optimises="NDCG itself (or DCG, P@k, RBP, MAP, MRR, ERR)",
    variants={"RF-list-S5": {"subsample": 0.05}, "RF-list-S30": {"subsample": 0.3}},
)
class RFList(ForestRanker):
    r"""Listwise random forest (Ibrahim and Carman, *Comparing Pointwise and Listwise Objective
    Functions for Random Forest based Learning-to-Rank*, 2016, section 4.3).

    The gain of a split is the change of the mean over all queries of the tree's sample of the
    expected NDCG: documents of a leaf share one score (their mean label), leaves of equal score
    form one block of ties, and the documents of a block share its ranks evenly (equations 11-13).
    The tree grows until no split of the K drawn features gains. All thresholds are tried and gains
    are exact; a feature costs time in proportion to the node's documents and the leaves of their
    queries, not to the number of queries or leaves.

    Other metrics are raised in expectation over all orders of tied documents, too. A block of m
    documents after s better ones adds, by rank j = 0, ..., m - 1 in the block, to

    .. math::
        AP: \quad & \frac{r}{m} \sum_j
            \frac{F + 1 + j (r - 1) / (m - 1)}{s + j + 1} \Big/ R, \\
        RR: \quad & [F = 0] \sum_j \binom{m - j - 1}{r - 1} \Big/ \binom{m}{r}
            \cdot \frac{1}{s + j + 1}, \\
        ERR: \quad & Q \sum_j \frac{e_j - e_{j+1}}{s + j + 1},

    where the block holds r relevant documents and F stand before it, of R in all; Q is the
    probability that no document before the block satisfies the user, and :math:`e_j` the mean of
    the product of 1 - p over all subsets of j documents of the block, p being a document's
    probability to satisfy.

    The paper's six ways to save time are ``query_fraction`` (1), ``subsample`` (2),
    ``min_samples_leaf`` and ``max_depth`` (3), ``threshold_fraction`` (4), ``min_gain`` (5) and a
    cut-off in ``metric`` such as ``"ndcg@10"`` (6).
    """

    metric: str = param(
        "ndcg",
        Satisfies(
            is_listwise_metric,
            "the text of an ndcg, dcg, p@k, recall@k, rbp, map, mrr or err metric",
            str,
        ),
        "what splits raise, such as 'ndcg', 'ndcg@10', 'ndcg(discount=alpha:0.1)', "
        "'ndcg(discount=beta:0.1)', 'dcg@5', 'p@10', 'rbp', 'map', 'mrr@10' or 'err'",
    )
    gain_table: Sequence[float] | None = param(
        None, _TABLE, "gain of the labels 0, 1, ..., in place of the metric's"
    )
    discount_table: Sequence[float] | None = param(
        None,
        _TABLE,
        "factor of the ranks 1, 2, ..., in place of the metric's; ranks beyond it count nothing",
    )
    query_fraction: float = param(
        1.0,
        Real(0, 1, above=True),
        "part of the queries of a node that a split's gain looks at, drawn anew for each node",
    )
    threshold_fraction: float = param(
        1.0, Real(0, 1, above=True), "part of the thresholds of a feature that a node tries"
    )

    def _growth(self, n_features: int) -> Growth:
        if self.sampling != "queries":
            raise ValueError(
                f"parameter sampling of {type(self).__name__} must be 'queries', not "
                f"{self.sampling!r}: a listwise gain needs whole queries"
            )
        return replace(
            super()._growth(n_features),
            listwise_levels=None,
            query_fraction=self.query_fraction,
            threshold_fraction=self.threshold_fraction,
        )

    def _metric(self, data: RankingInput) -> ListwiseMetric:
        return listwise_metric(
            as_listwise_metric(self.metric),
            data.y,
            data.filled_offsets,
            gain_table=self.gain_table,
            discount_table=self.discount_table,
            document_weight=data.weight if self.weighting == "split" else None,
        )
