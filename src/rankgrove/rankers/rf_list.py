"""RF-list: a random forest whose splits raise the ranking metric itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.forests.growing import Growth
from rankgrove.metrics.listwise_metric import (
    LISTWISE_METRIC_WORDS,
    ListwiseMetric,
    as_listwise_metric,
    is_listwise_metric,
    listwise_metric,
    read_listwise_metric,
)
from rankgrove.rankers.base.common_parameters import TABLE
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    GROWN_TO_THE_END,
    IBRAHIM_FEATURES,
    IBRAHIM_SAMPLES,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import AnyOf, Nothing, Real, Satisfies
from rankgrove.rankers.base.registry import register_ranker

_TABLE = AnyOf(Nothing(), TABLE)


PAPERS = {
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, section 4.3",
        {
            **IBRAHIM_SAMPLES,
            **IBRAHIM_FEATURES,
            "metric": ("ndcg", "equations 11 to 13, without a cut-off"),
            "node_order": ("breadth-first", "section 4.3.3"),
            "max_depth": (
                17,
                "reproduces the leaves of table XII and the quality of table XV; section 5.2.3 "
                "counts about 17 levels, though section 5.1 names no limit",
            ),
            "leaf_score": ("label", "equation 9"),
            **GROWN_TO_THE_END,
            **ALL_THRESHOLDS,
        },
        departures=(
            "section 5.1 stops trees only where no split gains (`max_depth=None`), which gives "
            "more leaves than table XII, and lower quality than table XV on OHSUMED",
        ),
    ),
}


@register_ranker(
    "rf-list",
    paper="Ibrahim and Carman 2016",
    optimises="NDCG itself (or any other metric)",
    variants={"RF-list-S5": {"subsample": 0.05}, "RF-list-S30": {"subsample": 0.3}},
    papers=PAPERS,
)
class RFList(ForestRanker):
    r"""Listwise random forest (Ibrahim and Carman, *Comparing Pointwise and Listwise Objective
    Functions for Random Forest based Learning-to-Rank*, 2016, section 4.3).

    The gain of a split is the change of the mean over all queries of the tree's sample of the
    expected NDCG: documents of a leaf share one score (their mean label), leaves of equal score
    form one block of ties, and the documents of a block share its ranks evenly (equations 11-13).
    The tree grows until no split of the K drawn features gains that leaves ``min_samples_leaf``
    documents on either side (1 in the paper). All thresholds are tried and gains
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
    probability to satisfy. Spearman's correlation is linear in the ranks, as NDCG is: with R the
    rank of a label (mean ranks of equal ones), gains are R - mean R and the factor of a rank is the
    negative rank.

    Any other mean over queries is evaluated anew for each ranking that a candidate split gives to
    a query of the node, which takes 30 to 50 times as long: ``meanndcg`` (exact over
    all orders), ``pair-accuracy`` and ``tau`` (a tied pair adds its mean, 1/2 or 0), ``ic`` (of the
    scores as they are), ``dcg`` and ``p`` with ``short``, and Python functions. A function is
    called for every different order of the labels of tied documents if there are at most 120, else
    for 64 orders that are drawn once for each query (the same for all splits, trees and machines),
    so that it takes another hundred times as long. A function of labels and scores gets the
    documents from the best score to the worst.

    A query that ``sampling="bootstrap-queries"`` draws twice counts twice, in the metric and in the
    mean labels of leaves; in numbers of documents (``min_samples_leaf``) it counts once.

    The paper's six ways to save time are ``query_fraction`` (1), ``subsample`` (2),
    ``min_samples_leaf`` and ``max_depth`` (3), ``threshold_fraction`` (4), ``min_gain`` (5) and a
    cut-off in ``metric`` such as ``"ndcg@10"`` (6).
    """

    shares: ClassVar[tuple[str, ...]] = ("trees",)

    missing: str = with_default(BaseRanker, "missing", "keep")  # listwise splits have two children
    metric: Any = param(
        "ndcg",
        Satisfies(is_listwise_metric, LISTWISE_METRIC_WORDS, read_listwise_metric),
        "the metric that splits increase, such as 'ndcg', 'ndcg@10', 'ndcg(discount=alpha:0.1)', "
        "'ndcg(discount=beta:0.1)', 'dcg@5', 'p@10', 'rbp', 'map', 'mrr@10' or 'err'; a function "
        "is slow",
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
        "share of the queries of a node on which gains are computed, drawn anew for each node",
    )
    threshold_fraction: float = param(
        1.0, Real(0, 1, above=True), "share of the thresholds of a feature that a node tries"
    )

    def _growth(self, n_features: int) -> Growth:
        if self.sampling not in ("queries", "bootstrap-queries"):
            raise ValueError(
                f"parameter sampling of {type(self).__name__} must be 'queries' or "
                f"'bootstrap-queries', not {self.sampling!r}: a listwise gain needs whole queries"
            )
        return replace(
            super()._growth(n_features),
            listwise_levels=None,
            query_fraction=self.query_fraction,
            threshold_fraction=self.threshold_fraction,
        )

    def _check_fit(self, fit: Fit) -> None:
        super()._check_fit(fit)
        self._metric(fit.data)

    def _metric(self, data: RankingInput) -> ListwiseMetric:
        return listwise_metric(
            as_listwise_metric(self.metric),
            data.y,
            data.filled_offsets,
            data.filled_ids,
            gain_table=self.gain_table,
            discount_table=self.discount_table,
            document_weight=data.weight if self.weighting == "split" else None,
        )
