"""RF-pair: a random forest that predicts which of two documents is more relevant."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.forests.growing import Growth
from rankgrove.forests.pairs import sample_pairs
from rankgrove.models.model import Model
from rankgrove.models.pairs import PairsModel, differences, filled
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.base.common_parameters import CRITERION
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    GROWN_TO_THE_END,
    IBRAHIM_FEATURES,
    IBRAHIM_SAMPLES,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import Integer
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.links import Link

PAPERS = {
    "ibrahim-2016": PaperSettings(
        "Ibrahim and Carman, Comparing Pointwise and Listwise Objective Functions for Random "
        "Forest based Learning-to-Rank, 2016, section 4.5",
        {
            **IBRAHIM_SAMPLES,
            **IBRAHIM_FEATURES,
            "criterion": ("entropy", "section 4.5: a forest with classification setting"),
            "max_pairs": (10_000, "section 4.5: every pair"),
            "leaf_score": ("label", "equation 9"),
            **GROWN_TO_THE_END,
            **ALL_THRESHOLDS,
        },
        departures=(
            "the paper describes it and reports no result",
            "documents are ranked by their mean probability of winning, not by a topological sort",
        ),
    ),
}


@register_ranker(
    "rf-pair",
    paper="Ibrahim and Carman 2016",
    optimises="which of two documents wins",
    papers=PAPERS,
)
class RFPair(ForestRanker):
    """Pairwise random forest (Ibrahim and Carman 2016, section 4.5).

    Two documents of a query with different labels give one training example: the difference of
    their features, in a random order, and whether the first one is the more relevant. A document's
    score is its mean probability of winning against the other documents of its list (each pair is
    scored in both orders), which also resolves cycles. So scores depend on the list: ``predict``,
    ``rank`` and ``score`` need the queries. Scoring a list takes time in proportion to the square
    of its length.

    For a categorical column, an example has the category of the first document, and none where both
    documents have the same.

    ``leaf_score`` and out-of-bag predictions are about pairs, not documents.
    """

    shares: ClassVar[tuple[str, ...]] = ("trees",)

    max_pairs: int = param(
        200, Integer(1), "training pairs per query at most, drawn at random from all it has"
    )
    criterion: str = param("entropy", CRITERION, "gain of a split")

    def _growth(self, n_features: int) -> Growth:
        return replace(super()._growth(n_features), criterion=self.criterion)

    def _examples(self, fit: Fit, seed: int) -> RankingInput:
        data = fit.data
        documents = _documents(data)
        pairs = sample_pairs(data.y, data.groups.offsets, self.max_pairs, seed)
        first, second = pairs.first, pairs.second
        X = filled(data.X.to_array(type(self).__name__), fit.fill)
        categories = data.X.categories
        difference = differences(X, documents[first], documents[second], sorted(categories))
        weight = None
        if data.weight is not None:
            weight = np.sqrt(data.weight[first] * data.weight[second])
        if len(pairs.first) == 0:  # nothing to prefer: one example that says so
            difference, pairs = np.zeros((1, X.shape[1]), np.float32), pairs.single()
            weight = None
        return replace(
            data,
            X=DenseMatrix(difference, categories=categories),
            y=pairs.first_wins.astype(np.float64),
            groups=QueryGroups.from_sizes(pairs.per_query),
            weight=weight,
            n_given=len(difference),
            counting=None,
        )

    def _make_model(self, fit: Fit, ensemble: TreeEnsemble, link: Link) -> Model:
        trees = super()._make_model(fit, ensemble, link)
        assert isinstance(trees, TreesModel)
        return PairsModel(columns=trees.columns, absent=trees.absent, trees=trees)

    def _trees_model(self, model: Model) -> TreesModel:
        assert isinstance(model, PairsModel)
        return model.trees

    def _with_trees(self, model: Model, ensemble: TreeEnsemble) -> Model:
        assert isinstance(model, PairsModel)
        return replace(model, trees=replace(model.trees, ensemble=ensemble))


def _documents(data: RankingInput) -> npt.NDArray[np.int64]:
    """Return the rows of X in grouped order."""
    return np.arange(data.groups.n_rows) if data.groups.order is None else data.groups.order
