"""The regression forest."""

from __future__ import annotations

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.forests.growing import NODE_ORDERS
from rankgrove.rankers.base.common_parameters import NODE_ORDER_MEANING
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    GROWN_TO_THE_END,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import AnyOf, Choice, Nothing
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.training.ordinal import TASKS, Problems, problems_of
from rankgrove.workers.row_shard import RowShard

TASK_MEANING = (
    "what is learnt: the label, or for each grade c but the lowest whether the label reaches it "
    "(n_estimators trees each), scored by the expected grade"
)


PAPERS = {
    "mohan-2011": PaperSettings(
        "Mohan, Chen and Weinberger, Web-Search Ranking with Initialized Gradient Boosted "
        "Regression Trees, 2011, algorithm 1",
        {
            "n_estimators": (10_000, "section 3"),
            "sampling": ("bootstrap", "algorithm 1: as many documents, with replacement"),
            "subsample": (1.0, "algorithm 1"),
            "max_features": (0.1, "section 3: K = 0.1 f"),
            "redraw": (False, "section 2: K features are sampled, no others"),
            "missing": ("zero", "section 7"),
            **GROWN_TO_THE_END,
            **ALL_THRESHOLDS,
        },
    ),
    "desa-2016": PaperSettings(
        "De Sá, Gonçalves, Sousa and Salles, Generalized BROOF-L2R, 2016, section 4.3 "
        "(scikit-learn)",
        {
            "n_estimators": (300, "section 4.3: convergence around 300 trees"),
            "max_features": (0.3, "section 4.3"),
            "max_leaf_nodes": (100, "section 4.3"),
            "node_order": ("best-first", "scikit-learn's order with max_leaf_nodes"),
            **GROWN_TO_THE_END,
            **ALL_THRESHOLDS,
        },
    ),
}


@register_ranker(
    "rf",
    paper="Mohan, Chen and Weinberger 2011",
    optimises="squared error of the label",
    variants={"RF as classification": {"task": "classification"}},
    papers=PAPERS,
)
class RandomForest(ForestRanker):
    r"""Regression forest (Mohan, Chen and Weinberger, *Web-Search Ranking with Initialized Gradient
    Boosted Regression Trees*, 2011, section 3).

    Every tree is grown on a bootstrap of the documents (as many as there are, drawn with
    replacement), with the squared error and K = 0.1 f features per node, until leaves have
    ``min_samples_leaf`` documents (1 in the paper: trees are grown to the end). The paper grows up
    to 10,000 trees, and takes missing values for 0 (section 7 compares alternatives).

    With ``task="classification"`` (section 6) there is one forest per grade c but the lowest, which
    learns :math:`P(y \ge c)` from 0 and 1, and the score is the expected grade
    :math:`\sum_r r P(y = r)`.

    With ``max_leaf_nodes`` trees grow best-first, as in scikit-learn: the leaf whose best split
    lowers the squared error of the tree the most,
    :math:`\frac{n}{N} (MSE - \frac{n_l}{n} MSE_l - \frac{n_r}{n} MSE_r)`, is split next.
    """

    sampling: str = with_default(ForestRanker, "sampling", "bootstrap")
    subsample: float | int = with_default(ForestRanker, "subsample", 1.0)
    max_features: int | float | str | None = with_default(ForestRanker, "max_features", 0.1)
    node_order: str | None = param(
        None,
        AnyOf(Choice(*NODE_ORDERS), Nothing()),
        f"{NODE_ORDER_MEANING}; None: best-first with max_leaf_nodes, else breadth-first",
    )
    missing: str = with_default(ForestRanker, "missing", "zero")
    task: str = param("regression", Choice(*TASKS), TASK_MEANING)

    def _node_order(self) -> str:
        limited = "breadth-first" if self.max_leaf_nodes is None else "best-first"
        return self.node_order or limited

    def _problems(self, data: RankingInput, shard: RowShard) -> Problems:
        if self.task == "classification" and self.leaf_score != "label":
            raise ValueError(
                f"parameter leaf_score of {type(self).__name__} must be 'label' with "
                f"task='classification', not {self.leaf_score!r}"
            )
        return problems_of(data.y, self.task, type(self).__name__, shard)
