"""iGBRT: boosted regression trees that start from a random forest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rankgrove.boosting.objectives.base import Objective
from rankgrove.boosting.start import Floats, Start
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import ModelError
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.base.declaration import param, with_default
from rankgrove.rankers.base.fitting import Fit, init_model_of
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import (
    AnyOf,
    Choice,
    Integer,
    Nothing,
    Real,
    Satisfies,
)
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.gbrt import GBRT
from rankgrove.rankers.random_forest import RandomForest


def _read_model(path: str) -> Any:
    from rankgrove.formats.container import load_model

    return load_model(path)


PAPERS = {
    "mohan-2011": PaperSettings(
        "Mohan, Chen and Weinberger, Web-Search Ranking with Initialized Gradient Boosted "
        "Regression Trees, 2011, algorithm 3",
        {
            "n_forest_trees": (10_000, "section 7"),
            "forest_max_features": (0.1, "section 3: K = 0.1 f"),
            "n_estimators": (500, "section 7: M_B = 500"),
            "learning_rate": (0.1, "section 7: one of 0.1 to 0.5"),
            "tree": ("leafwise", "section 2: CART"),
            "max_depth": (4, "section 4"),
            "residuals": ("in-sample", "algorithm 3: r = y - F(x)"),
            "missing": ("zero", "section 7"),
            "min_child_weight": (0.0, "no limit is named"),
            **ALL_THRESHOLDS,
        },
        tuned={"learning_rate": (0.1, 0.2, 0.3, 0.4, 0.5)},
        departures=(
            "if all K features of a node of the forest are constant, more are drawn, unless a "
            "forest with redraw=False is given",
        ),
    ),
}


@register_ranker(
    "igbrt",
    paper="Mohan, Chen and Weinberger 2011",
    optimises="squared error of the label",
    variants={"iGBRT as classification": {"task": "classification"}},
    papers=PAPERS,
)
class IGBRT(GBRT):
    r"""Initialized gradient boosted regression trees (Mohan, Chen and Weinberger, *Web-Search
    Ranking with Initialized Gradient Boosted Regression Trees*, 2011, algorithm 3).

    A random forest F is grown first. Boosting then fits trees of depth 4 to the residuals of the
    forest, :math:`r_i = y_i - F(x_i)`. The model is one ensemble, the sum of both:

    .. math:: T(x) = F(x) + \alpha \sum_{t=1}^{M_B} T_t(x).

    The residuals of fully grown trees on their own training data are small; the paper uses them
    as they are, ``residuals="oob"`` takes the forest's out-of-bag predictions instead (documents
    that every tree saw keep their in-sample residual).

    Ctrl-C while the forest grows leaves no model. A fitted forest can be passed as ``forest``
    instead, and reused by several fits.
    """

    shares: ClassVar[tuple[str, ...]] = ("trees", "rows")

    n_estimators: int = with_default(GBRT, "n_estimators", 500)
    forest: Any = param(
        None,
        AnyOf(
            Nothing(),
            Satisfies(
                lambda value: isinstance(value, RandomForest),
                "a RandomForest (on the command line its model file)",
                reader=_read_model,
            ),
        ),
        "the forest to start from: a fitted one is taken as it is, another is fitted; None: one "
        "made of the next parameters",
    )
    n_forest_trees: int = param(10_000, Integer(1), "trees of the forest (the paper's M_RF)")
    forest_max_features: float = param(
        0.1, Real(0, 1, above=True), "part of the features that a node of the forest tries (K / f)"
    )
    residuals: str = param(
        "in-sample",
        Choice("in-sample", "oob"),
        "the forest's predictions from which boosting starts: of all trees, or of those that did "
        "not see the document",
    )

    def _start(self, fit: Fit, objective: Objective) -> Start:
        if fit.init_model is not None:
            raise ModelError(
                f"{type(self).__name__} starts from its forest, not from init_model: give a "
                "forest as parameter forest, or boost any model by GBRT"
            )
        forest = self._forest()
        if forest.__sklearn_is_fitted__():
            model, bag = init_model_of(forest, fit.data, "the forest"), forest.oob_
        else:
            learnt = forest.learn_within(fit)
            model, bag = learnt.model, learnt.attributes["oob_"]
        outputs = self._outputs(bag, fit) if self.residuals == "oob" else None
        if not isinstance(model, TreesModel) or model.link != objective.link:
            raise ModelError(
                f"the forest learnt another task than {self.task} on these labels: set its task"
            )
        in_sample = Start(np.zeros(len(objective.base_score())), model, raw=True)
        if outputs is None:
            return in_sample
        known = in_sample.scores(fit.data, self.n_jobs)
        return replace(in_sample, training_outputs=np.where(np.isnan(outputs), known, outputs))

    def _category_limit(self) -> int:
        forest = self.forest
        if forest is not None and not forest.__sklearn_is_fitted__():
            limits = sorted({forest.max_categories, self.max_categories})
            if len(limits) > 1:
                raise ValueError(
                    "the forest and the boosted trees of IGBRT share the categories of the data: "
                    f"give both the same max_categories, not {limits[0]} and {limits[1]}"
                )
        return super()._category_limit()

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = {"start": "where boosting starts from a forest"}
        if self.forest is not None:
            unused |= dict.fromkeys(("n_forest_trees", "forest_max_features"), "beside a forest")
        free = "on the forest that boosting starts from, so the model would not satisfy it"
        unused |= dict.fromkeys(("monotone", "interactions"), free)
        return {**super()._unused_parameters(data), **unused}

    def reads_rows_once(self) -> bool:
        """Return no: the forest and the boosted trees have bins of their own."""
        return False

    def planned_trees(self) -> tuple[int, int]:
        """Return how many trees of the forest a fit grows (0 if it is given), and boosted ones."""
        forest = self._forest()
        n_grown = 0 if forest.__sklearn_is_fitted__() else int(forest.n_estimators)
        return n_grown, int(self.n_estimators)

    def _forest(self) -> RandomForest:
        """Return the forest to start from: the user's, or a new one."""
        if self.forest is not None and self.forest.__sklearn_is_fitted__():
            given: RandomForest = self.forest
            return given
        params: dict[str, Any] = {
            "n_estimators": self.n_forest_trees,
            "max_features": self.forest_max_features,
            "min_samples_leaf": 1,  # grown to the end, as in the paper
            "task": self.task,
            "missing": self.missing,
            "max_bins": self.max_bins,
            "verbose": self.verbose,
        }
        if self.forest is not None:
            params = self.forest.get_params(deep=False)
        params |= {"n_jobs": self.n_jobs}
        if self.residuals == "oob":
            params["oob_score"] = True
        forest = RandomForest(**params)
        forest.measures_oob = False  # labels need not be grades
        return forest

    def _outputs(self, bag: Any, fit: Fit) -> Floats:
        """Return out-of-bag predictions of each problem in grouped order; NaN where none exists."""
        if bag is None or not bag.is_of(fit.data, fit.shard):
            raise ModelError(
                "residuals='oob' needs a forest that was fitted to these documents with "
                "oob_score=True"
            )
        means: Floats = bag.grouped(fit.data, fit.shard).means
        return means
