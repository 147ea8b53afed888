"""GBRT: boosted regression trees of depth 4 on the squared loss."""

from __future__ import annotations

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.problems import ProblemsSquaredError
from rankgrove.boosting.start import Start
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.common_parameters import START, START_MEANING
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Choice
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.training.ordinal import TASKS, problems_of

PAPERS = {
    "mohan-2011": PaperSettings(
        "Mohan, Chen and Weinberger, Web-Search Ranking with Initialized Gradient Boosted "
        "Regression Trees, 2011, algorithm 2",
        {
            "start": ("zero", "algorithm 2: r = y"),
            "n_estimators": (1000, "table 4; chosen on validation data up to 1000 (table 1)"),
            "learning_rate": (0.1, "section 7: one of 0.1 to 0.5"),
            "tree": ("leafwise", "section 2: CART"),
            "max_depth": (4, "section 4"),
            "missing": ("zero", "section 7"),
            "min_child_weight": (0.0, "no limit is named"),
            **ALL_THRESHOLDS,
        },
        tuned={"learning_rate": (0.1, 0.2, 0.3, 0.4, 0.5)},
    ),
}


@register_ranker(
    "gbrt",
    paper="Mohan, Chen and Weinberger 2011",
    optimises="squared error of the label",
    variants={"GBRT as classification": {"task": "classification"}},
    papers=PAPERS,
)
class GBRT(BoostedRanker):
    r"""Gradient boosted regression trees (Mohan, Chen and Weinberger, *Web-Search Ranking with
    Initialized Gradient Boosted Regression Trees*, 2011, algorithm 2).

    Each tree of depth 4 is fitted to the residuals :math:`r_i = y_i - T(x_i)` with all features,
    and added as :math:`T \leftarrow T + \alpha T_t`. Scores start at the mean label; with
    ``start="zero"`` at 0, as in the paper, and trees fit the mean as well. As in the paper, missing
    values are replaced by 0 by default (``missing``).

    With ``task="classification"`` (section 6) there is one problem per grade c but the lowest,
    whose targets are 1 where the label reaches c, else 0; the score is the expected grade
    :math:`\sum_r r P(y = r)`.
    """

    max_depth: int | None = with_default(BoostedRanker, "max_depth", 4)
    tree: str = with_default(BoostedRanker, "tree", "leafwise")
    max_leaf_nodes: int | str | None = with_default(BoostedRanker, "max_leaf_nodes", None)
    min_samples_leaf: int = with_default(BoostedRanker, "min_samples_leaf", 1)
    l2: float = with_default(BoostedRanker, "l2", 0.0)
    missing: str = with_default(BoostedRanker, "missing", "zero")
    task: str = param(
        "regression",
        Choice(*TASKS),
        "what is learnt: the label, or for each grade but the lowest whether the label reaches it",
    )
    start: str = param("mean", START, START_MEANING)

    def _objective(self, data: TrainingData) -> Objective:
        problems = problems_of(data.y, self.task, type(self).__name__, data.shard)
        return ProblemsSquaredError(data, problems)

    def _start(self, fit: Fit, objective: Objective) -> Start:
        zero = self.start == "zero"
        return Start.of(fit.init_model, objective, type(self).__name__, from_zero=zero)
