"""RCRank: LambdaMART on oblivious trees."""

from __future__ import annotations

from rankgrove.rankers.base.declaration import with_default
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Span
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.lambdamart import LambdaMART

PAPERS = {
    "modry-2016": PaperSettings(
        "Modry and Ferov, Enhancing LambdaMART Using Oblivious Trees, 2016, section 4.2",
        {
            "metric": ("ndcg@10", "section 4.2: lambdas optimise NDCG@10"),
            "truncation": (None, "all pairs; those below rank 10 change nothing"),
            "norm": (False, "no normalisation of the lambdas"),
            "n_estimators": (1000, "section 4.2, cut where validation NDCG@10 is best"),
            "learning_rate": (0.11, "table 3: the best of 64 leaves"),
            "max_depth": (6, "table 3: 64 leaves, the best"),
            **ALL_THRESHOLDS,
        },
        tuned={"learning_rate": (0.11, 0.13, 0.15, 0.17, 0.19), "max_depth": (3, 4, 5, 6)},
        departures=("the paper shifts labels to start at 1 (`--label-shift 1` of studies)",),
    ),
}


@register_ranker(
    "rcrank",
    paper="Modry and Ferov 2016",
    optimises="NDCG, MAP, ERR or MRR, through pairs",
    papers=PAPERS,
)
class RCRank(LambdaMART):
    r"""LambdaMART whose trees have one rule (feature, threshold) for all nodes of a level.

    Such a tree of depth d is a decision table of 2^d cells, which is scored very fast and overfits
    less. Each level takes the rule that leaves the least variance of the lambda gradients within
    the cells (equation 6 of the paper),

    .. math::
        \operatorname{arg\,min}_r \sum_i |X_i^L| \mathrm{Var}(X_i^L) + |X_i^R| \mathrm{Var}(X_i^R)

    summed over the nodes i of the level; the values of the cells are Newton steps. As in the paper,
    there is no ``l2`` by default (a given ``l2`` applies to leaf values only), and cells may be
    small or empty: there is no ``min_samples_leaf``. The lambdas are those of ``LambdaMART``; the
    paper has lambdas of NDCG@10 (``metric="ndcg@10"``), trees of 8 to 64 leaves and learning
    rates from 0.11 to 0.19, a grid that ``rankgrove compare --study rcrank`` runs on any data.

    Modry and Ferov, "Enhancing LambdaMART Using Oblivious Trees", 2016.
    """

    tree: str = with_default(LambdaMART, "tree", "oblivious")
    max_depth: int | None = with_default(LambdaMART, "max_depth", 6, search=Span(3, 8))
    max_leaf_nodes: int | str | None = with_default(LambdaMART, "max_leaf_nodes", None, search=None)
    min_samples_leaf: int | None = with_default(LambdaMART, "min_samples_leaf", None, search=None)
    criterion: str = with_default(LambdaMART, "criterion", "least_squares")
    l2: float = with_default(LambdaMART, "l2", 0.0)
