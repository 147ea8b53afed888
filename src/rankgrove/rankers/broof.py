"""BROOF: boosting of random forests with out-of-bag errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.forests.boosting import ForestBoosting, Points
from rankgrove.forests.extension_points import (
    ERRORS,
    EXAMPLE_UPDATES,
    INITIAL_WEIGHTS,
    LEARNER_WEIGHTS,
    VALIDATION_SETS,
    WEIGHT_UPDATES,
    TrainingDocuments,
    constant,
    identity,
)
from rankgrove.forests.growing import NODE_ORDERS, ForestGrower, Growth
from rankgrove.forests.sampling import n_candidates
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.base.common_parameters import (
    MISSING_IN_TREES,
    MISSING_IN_TREES_MEANING,
    NODE_ORDER_MEANING,
)
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.paper_settings import (
    ALL_THRESHOLDS,
    PaperSettings,
)
from rankgrove.rankers.base.parameters import AnyOf, Choice, Flag, Integer, Nothing, Real, Satisfies
from rankgrove.rankers.base.registry import register_ranker
from rankgrove.rankers.base.tree_ranker import TreeRanker
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.scorer import Scorer

Floats = npt.NDArray[np.float64]

# Table 1 of the paper.
_BY_ERRORS = {
    "initial_weights": "uniform",
    "example_update": "identity",
    "validation": "oob",
    "learner_weight": "log",
    "weight_update": "oob",
}
PRESETS: Mapping[str, Mapping[str, str]] = {
    "absolute": {**_BY_ERRORS, "error": "absolute"},
    "median": {**_BY_ERRORS, "error": "median"},
    "height": {**_BY_ERRORS, "error": "height"},
    "gradient": {
        "initial_weights": "uniform",
        "example_update": "residue",
        "validation": "oob",
        "error": "absolute",
        "learner_weight": "constant",
        "weight_update": "constant",
    },
}

_TABLES: Mapping[str, Mapping[str, Any]] = {
    "initial_weights": INITIAL_WEIGHTS,
    "example_update": EXAMPLE_UPDATES,
    "validation": VALIDATION_SETS,
    "error": ERRORS,
    "learner_weight": LEARNER_WEIGHTS,
    "weight_update": WEIGHT_UPDATES,
}


def _point(names: Any, what: str) -> Any:
    function = Satisfies(callable, "a function (see rankgrove.forests.extension_points)")
    return param(
        None,
        AnyOf(Nothing(), Choice(*names), function),
        f"{what}; None: as in the preset",
    )


_DESA = "De Sá, Gonçalves, Sousa and Salles, Generalized BROOF-L2R, 2016, "
_FORESTS = {
    "n_trees": (300, "section 4.3"),
    "max_features": (0.3, "section 4.3"),
    "max_leaf_nodes": (100, "section 4.3"),
    "node_order": ("best-first", "scikit-learn's order with max_leaf_nodes"),
    **ALL_THRESHOLDS,
}
_SHRINKAGE = "the paper gives no value of the shrinkage eta"
PAPERS = {
    "desa-2016": PaperSettings(
        _DESA + "algorithm 5 and section 4.3 (BROOF-gradient)",
        {
            "preset": ("gradient", "table 1"),
            "n_estimators": (100, "section 4.3: converged at about 100 iterations"),
            **_FORESTS,
        },
        departures=(
            _SHRINKAGE,
            "algorithm 5 stops where the weighted error reaches 0.5; the preset does not, because "
            "it gives errors no weight",
        ),
    ),
    **{
        f"desa-2016-{preset}": PaperSettings(
            _DESA + f"algorithm {number} and section 4.3 (BROOF-{preset})",
            {
                "preset": (preset, "table 1"),
                "learner_weight": ("beta", "the formula of beta, though the text rewards accuracy"),
                "n_estimators": (500, "section 4.3, ended by the rule of 0.5"),
                **_FORESTS,
            },
            departures=(
                _SHRINKAGE,
                "errors are divided by the largest one, so that they lie in [0, 1]",
            ),
        )
        for number, preset in enumerate(("absolute", "median", "height"), 2)
    },
}


@register_ranker(
    "broof",
    paper="De Sá, Gonçalves, Sousa and Salles 2016",
    optimises="out-of-bag errors of documents (absolute, median, height) or residuals",
    variants={f"BROOF-{preset}": {"preset": preset} for preset in PRESETS},
    papers=PAPERS,
)
class BROOF(TreeRanker):
    r"""Generalized BROOF-L2R (De Sá, Gonçalves, Sousa and Salles, *Generalized BROOF-L2R: A General
    Framework for Learning to Rank Based on Boosting and Random Forests*, 2016, algorithm 1).

    Each iteration t grows a random forest :math:`RF_t` on documents drawn with replacement in
    proportion to their weights w, predicts a validation set (by default, each document by the trees
    that did not see it), and computes from the errors e in [0, 1]

    .. math::
        \epsilon = \frac{\sum e w}{\sum w}, \quad
        \beta_t = \eta \frac{\epsilon}{1 - \epsilon}, \quad
        w \leftarrow w \beta_t^{1 - e},

    and the score is :math:`\sum_t a_t RF_t(x) / \sum_t a_t` with :math:`a_t = \log(1 / \beta_t)`.
    Boosting ends when :math:`\epsilon \ge 0.5`. The preset ``gradient`` fits each forest to the
    residuals of the shrunken forests before it, :math:`y - \eta \sum_{s<t} RF_s(x)`, with equal
    weights of all forests and documents: errors are not used, and boosting does not end early.

    ``rankgrove.forests.extension_points`` documents the arguments and results of the five extension
    points; each of them may be a user's function.

    Metrics of ``eval_set`` are computed on sums of forests, while the model sums trees: the scores
    differ in the last bits, so the order of almost tied documents may differ.
    """

    family: ClassVar[str] = "boosted forest"
    learns_in_steps: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...]] = ("trees", "rows")

    preset: str = param("gradient", Choice(*PRESETS), "variant of table 1 of the paper")
    initial_weights: Any = _point(INITIAL_WEIGHTS, "weights of the documents at first")
    example_update: Any = _point(
        EXAMPLE_UPDATES,
        "what the next forest learns: the labels, or what is left of them",
    )
    validation: Any = _point(
        VALIDATION_SETS,
        "predictions that errors and residuals are made of: of the trees that did not see the "
        "document, or of all",
    )
    error: Any = _point(ERRORS, "error of a document")
    learner_weight: Any = _point(
        LEARNER_WEIGHTS,
        "weight of a forest: log(1 / beta), beta itself, or all the same",
    )
    weight_update: Any = _point(
        WEIGHT_UPDATES,
        "whose weights change: of documents with out-of-bag errors, of all (with "
        "validation='train'), of none",
    )
    missing: str = param("keep", MISSING_IN_TREES, MISSING_IN_TREES_MEANING)
    n_estimators: int = param(500, Integer(1), "maximum number of iterations (forests)")
    n_trees: int = param(300, Integer(1), "trees of each forest")
    learning_rate: float | None = param(
        None,
        AnyOf(Nothing(), Real(0, 1, above=True)),
        "shrinkage (the paper's eta); None: 0.1 where forests fit residuals, else 1",
    )
    max_features: int | float | str | None = param(
        0.3,
        AnyOf(Choice("log2", "sqrt", "all"), Integer(1), Real(0, 1, above=True), Nothing()),
        "features tried per node: a fraction, a number, floor(log2(number)) + 1, the root, or all",
    )
    max_leaf_nodes: int = param(100, Integer(2), "maximum number of leaves of a tree")
    node_order: str = param("best-first", Choice(*NODE_ORDERS), NODE_ORDER_MEANING)
    min_samples_leaf: int = param(1, Integer(1), "minimum number of documents in a leaf")
    bootstrap: bool = param(
        True,
        Flag(),
        "whether each tree sees documents drawn with replacement in proportion to their weights, "
        "or all of them, weighted",
    )
    relevant_from: float = param(1.0, Real(), "lowest label that is relevant, for ``height``")
    max_bins: int = param(
        255, Integer(2, 65534), "distinct values kept per feature; above 255 takes twice the memory"
    )

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        chosen = self._chosen_points()
        unused = super()._unused_parameters(data)
        if chosen["learner_weight"] == chosen["weight_update"] == "constant":
            unused["error"] = "where neither learner_weight nor weight_update looks at it"
        shown = [chosen[name] for name in ("initial_weights", "example_update", "error")]
        if "height" not in shown and not any(map(callable, shown)):
            unused["relevant_from"] = "unless error is 'height' or a function is given"
        return unused

    def _learn(self, fit: Fit) -> FitResult:
        data, n_jobs = fit.data, self.n_jobs
        points = self._points()
        eval_scores = {
            eval_set.name: _EvalScores(eval_set.data, points.averaged)
            for eval_set in fit.evaluation.sets
        }

        def predict(trees: TreeEnsemble, of: RankingInput = data) -> Floats:
            scorer = Scorer(trees, fit.fill)
            return of.groups.grouped(of.X.by_rows(lambda X: scorer.predict(X, n_jobs=n_jobs)))

        def on_forest(trees: TreeEnsemble, weight: float) -> None:
            for one in eval_scores.values():
                one.add(predict(trees, one.data), weight)

        boosting = ForestBoosting(
            documents=self._documents(fit),
            shard=fit.shard,
            points=points.functions,
            grower=ForestGrower(
                data,
                fit.shard,
                max_bins=self.max_bins,
                fill=fit.fill,
                n_threads=resolve_n_jobs(n_jobs),
            ),
            growth=Growth(
                order=self.node_order,
                max_features=n_candidates(self.max_features, data.columns.count),
                min_samples_leaf=self.min_samples_leaf,
                max_leaf_nodes=self.max_leaf_nodes,
                missing_branch=self.missing == "branch",
            ),
            n_trees=self.n_trees,
            bootstrap=self.bootstrap,
            shrinkage=points.shrinkage,
            seed=fit.seed,
            predict=predict,
            on_forest=on_forest,
        )

        with fit.step_loop(self, self.n_estimators) as loop:
            for _ in boosting.steps(self.n_estimators):
                if loop.step_done({name: one.scores for name, one in eval_scores.items()}):
                    break
        model = TreesModel(
            columns=data.columns,
            absent=data.absent,
            ensemble=boosting.ensemble(loop.n_kept, points.averaged),
            fill=fit.fill,
            trees_per_step=self.n_trees,
            averaged=points.averaged,
            saw_missing=boosting.grower.saw_missing,
        )
        learner_weights = np.array(boosting.learner_weights[: loop.n_kept])
        return FitResult(model, {"learner_weights_": learner_weights}, loop.interrupted)

    def _documents(self, fit: Fit) -> TrainingDocuments:
        """Return what extension points see of the training documents."""
        data, shard = fit.data, fit.shard
        return TrainingDocuments(
            data.y,
            np.repeat(np.arange(data.groups.n_queries), data.groups.sizes),
            data.y >= self.relevant_from,
            np.random.default_rng(fit.seed),
            data.weight,
            shard.n_rows,
            shard.first_row,
        )

    def sharing(self) -> tuple[str, ...]:
        """Return what workers can share: not the rows with functions that see all documents."""
        if not any(map(callable, self._chosen_points().values())):
            return self.shares
        return tuple(share for share in self.shares if share != "rows")

    def reads_rows_once(self) -> bool:
        """Return no: forests may predict their training documents."""
        return False

    def planned_trees(self) -> tuple[int, int]:
        """Return how many trees all forests have, and that no other steps follow."""
        return int(self.n_estimators) * int(self.n_trees), 0

    def _chosen_points(self) -> dict[str, Any]:
        """Return the extension points by name: those given, else those of the preset."""
        return {
            name: default if getattr(self, name) is None else getattr(self, name)
            for name, default in PRESETS[self.preset].items()
        }

    def _points(self) -> _Chosen:
        """Return the checked extension points; names are looked up."""
        chosen = self._chosen_points()
        if not self.bootstrap:
            if self.validation == "oob":
                raise ValueError(
                    "parameter validation of BROOF must be 'train' without bootstrap: every tree "
                    "sees every document"
                )
            if not callable(chosen["validation"]):
                chosen["validation"] = "train"
        if chosen["validation"] == "oob" and chosen["weight_update"] == "train":
            raise ValueError(
                "parameter weight_update of BROOF must not be 'train' with validation='oob': "
                "out-of-bag predictions do not know all documents"
            )
        if chosen["validation"] == "train" and chosen["weight_update"] == "oob":
            if self.weight_update is not None:
                raise ValueError(
                    "parameter weight_update of BROOF must not be 'oob' with validation='train', "
                    "whose errors are those of all documents"
                )
            chosen["weight_update"] = "train"
        for name, table in _TABLES.items():
            if isinstance(chosen[name], str):
                chosen[name] = table[chosen[name]]
        points = Points(**chosen)
        each_fits_labels = points.example_update is identity
        shrinkage = self.learning_rate or (1.0 if each_fits_labels else 0.1)
        averaged = each_fits_labels or points.learner_weight is not constant
        return _Chosen(points, shrinkage, averaged)

    def _get_fitted(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        values, arrays = super()._get_fitted()
        return values, {**arrays, "learner_weights": self.learner_weights_}

    def _set_fitted(self, values: Mapping[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        super()._set_fitted(values, arrays)
        self.learner_weights_: Floats = arrays["learner_weights"].astype(np.float64)


@dataclass(frozen=True)
class _Chosen:
    """Extension points, the shrinkage, and whether the score is a mean of the forests or a sum."""

    functions: Points
    shrinkage: float
    averaged: bool


@dataclass
class _EvalScores:
    """Scores of an evaluation set in grouped order, updated as forests are added."""

    data: RankingInput
    averaged: bool
    total: Any = 0.0
    weight: float = 0.0

    def add(self, predictions: Floats, weight: float) -> None:
        """Add the predictions of one more forest."""
        self.total = self.total + weight * predictions
        self.weight += weight

    @property
    def scores(self) -> Floats:
        """Return the sum or mean of the forests so far."""
        return np.asarray(self.total / self.weight if self.averaged else self.total)
