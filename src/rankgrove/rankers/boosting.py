"""Gradient boosting over queries: the loop that every boosted ranker shares."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.errors import ModelError, TrainingInterrupted
from rankgrove.rankers.background import Background, background_of
from rankgrove.rankers.base import Arrays, BaseRanker
from rankgrove.rankers.declaration import param, ranker
from rankgrove.rankers.monitor import make_monitor
from rankgrove.rankers.objectives.base import Objective, TrainingData
from rankgrove.rankers.parameters import (
    AnyOf,
    Choice,
    Integer,
    Nothing,
    Real,
    Satisfies,
    numbers_reader,
)
from rankgrove.rankers.progress import Callback, FitProgress, progress_bar
from rankgrove.rankers.sampling import RowSampler
from rankgrove.rankers.tree_ranker import TreeRanker
from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.growing import SplitCriterion, TreeGrower, add_leaf_values
from rankgrove.trees.scorer import Scorer

Self = TypeVar("Self", bound="BoostedRanker")
Floats = npt.NDArray[np.float64]


def _is_sign_list(value: Any) -> bool:
    return np.ndim(value) == 1 and bool(np.isin(np.asarray(value), (-1, 0, 1)).all())


@ranker
class BoostedRanker(TreeRanker):
    """Base of the boosted rankers; a subclass gives its objective by ``_objective``.

    Each iteration computes the gradients of the objective at the current scores, grows one tree per
    output on them, sets its leaf values (Newton steps unless the objective has its own) and adds it
    to the scores, shrunken by the learning rate.

    Attributes
    ----------
    ensemble_ : the trees, cut at the best validation iteration; leaf values carry the learning rate
    evals_result_ : ``{set name: {metric name: [value after each iteration]}}``
    best_iteration_ : iterations kept because of the validation metric, None without validation
    """

    n_estimators: int = param(1000, Integer(1), "boosting iterations at most")
    learning_rate: float = param(0.1, Real(0, above=True), "shrinkage of each tree")
    tree: str = param(
        "leafwise",
        Choice("leafwise", "levelwise", "oblivious"),
        "how trees grow: best leaf first, level by level, or one rule for all nodes of a level",
    )
    max_leaf_nodes: int | None = param(
        31, AnyOf(Integer(2), Nothing()), "leaves of a tree at most; None: no limit"
    )
    max_depth: int | None = param(
        None,
        AnyOf(Integer(1), Nothing()),
        "levels of splits at most; None: no limit (oblivious trees: as max_leaf_nodes allows)",
    )
    min_samples_leaf: int = param(20, Integer(1), "documents in a leaf at least")
    min_child_weight: float = param(1e-3, Real(0), "sum of Hessians in a leaf at least")
    l2: float = param(1.0, Real(0), "added to the sum of Hessians of a leaf; more suits small data")
    min_gain: float = param(0.0, Real(0), "gain of a split at least")
    split_by: str | SplitCriterion = param(
        "newton",
        AnyOf(
            Choice("newton", "least_squares"),
            Satisfies(callable, "a function gain(G_left, H_left, G_right, H_right)"),
        ),
        "gain of a split: G² / H summed over the children, or as if all Hessians were 1 (a "
        "regression tree fitted to the gradients), or by a function of your own on arrays of sums "
        "of gradients G and Hessians H",
    )
    subsample: float = param(
        1.0, Real(0, 1, above=True), "part of the data from which each tree learns"
    )
    subsample_unit: str = param(
        "query", Choice("query", "document"), "what ``subsample`` draws, without replacement"
    )
    max_features: float = param(1.0, Real(0, 1, above=True), "part of the features tried per node")
    max_features_tree: float = param(
        1.0, Real(0, 1, above=True), "part of the features that each tree may use"
    )
    monotone: Sequence[int] | None = param(
        None,
        AnyOf(
            Nothing(),
            Satisfies(_is_sign_list, "one of -1, 0, 1 per feature", numbers_reader),
        ),
        "direction of each feature's effect: 1 the score never falls as it grows, -1 never rises, "
        "0 free",
    )
    max_bins: int = param(
        255, Integer(2, 65534), "distinct values kept per feature; above 255 takes twice the memory"
    )

    def _objective(self, data: TrainingData) -> Objective:
        """Build the objective of this ranker for the training data."""
        raise NotImplementedError

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group_sizes: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: Any = None,
        early_stopping_rounds: int | None = None,
        init_model: BaseRanker | None = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> Self:
        """Train on documents with labels and queries.

        Ctrl-C ends the training early: a warning is given, and the trees so far are the model.

        Parameters
        ----------
        X : matrix, data frame, or a Dataset (which brings labels and queries)
        y : relevance labels, one per row
        qid : one query id per row, in any order, integers or strings
        group_sizes : documents per query for grouped rows, instead of ``qid``
        sample_weight : weight of each document (repeat a query's weight for its documents)
        eval_set : a Dataset or tuple (X, y, qid), a list of those, or a dict that names them. An
            entry whose matrix is ``X`` itself is watched without being scored again. The model is
            cut where the first metric was best on the first set that is not the training data.
        eval_metric : a metric or several, by name or object; the first one decides (``ndcg@10``)
        early_stopping_rounds : stop after so many iterations without a better validation metric
        init_model : a fitted ranker whose scores the new trees improve, and part of the new model
        callbacks : functions called with a FitProgress after each iteration; true ends the training
        """
        if init_model is self:
            init_model = self._same_fitted()
        data = self._start_fit(X, y, qid, group_sizes, sample_weight)
        n_threads = resolve_n_jobs(self.n_jobs)
        seed = self._seed()
        bins = find_bins(data.X, max_bins=self.max_bins, fill=self.fill_, n_jobs=self.n_jobs)
        binned = bin_matrix(data.X, bins, rows=data.groups.order, n_jobs=self.n_jobs)
        objective = self._objective(
            TrainingData(data.y, data.groups.offsets, data.weight, n_threads, seed)
        )
        background = background_of(init_model, self, objective.base_score())
        scores = background.start_scores(data.X)
        if data.groups.order is not None and background.model is not None:
            scores = np.ascontiguousarray(scores[..., data.groups.order])
        monitor = make_monitor(
            eval_set,
            eval_metric,
            early_stopping_rounds,
            data,
            X,
            bins,
            background,
            lambda raw: objective.link(raw.reshape(objective.n_outputs, -1)),
            self.n_jobs,
        )
        grower = self._grower(binned)
        sampler = RowSampler(data.groups, self.subsample, self.subsample_unit, seed)
        progress = FitProgress(self, self.n_estimators, evals_result=monitor.history)
        trees: list[list[Any]] = []
        with progress_bar(self.ranker_name, self.verbose) as draw:
            try:
                for grown in self._boost(objective, grower, sampler, scores, seed):
                    trees.append(grown)
                    stop = monitor.update(grown, scores, self.n_jobs)
                    progress.iteration = len(trees)
                    progress.best_iteration = monitor.best_iteration
                    wishes = [callback(progress) for callback in (draw, *(callbacks or ()))]
                    if stop or any(wishes):
                        break
            except KeyboardInterrupt:
                if not trees:
                    raise
                warnings.warn(
                    f"training was interrupted: the model has the {len(trees)} iterations so far "
                    f"of {self.n_estimators}",
                    TrainingInterrupted,
                    stacklevel=2,
                )
        self._finish(trees, background, monitor.best_iteration, objective.n_outputs)
        self.evals_result_ = monitor.history
        return self

    def _boost(
        self,
        objective: Objective,
        grower: TreeGrower,
        sampler: RowSampler,
        scores: Floats,
        seed: int,
    ) -> Iterator[list[Any]]:
        """Yield the trees of each iteration, one per output, after adding them to the scores."""
        n_outputs = objective.n_outputs
        gradients = np.empty(scores.shape, np.float32)
        hessians = None if objective.constant_hessian else np.empty(scores.shape, np.float32)
        for iteration in range(self.n_estimators):
            objective.gradients(scores, gradients, hessians, iteration)
            rows = sampler.draw(iteration)
            old_scores = scores if n_outputs == 1 else scores.copy()
            trees = []
            for output in range(n_outputs):
                tree = grower.grow(
                    gradients.reshape(n_outputs, -1)[output],
                    None if hessians is None else hessians.reshape(n_outputs, -1)[output],
                    rows=rows,
                    seed=seed + iteration * n_outputs + output,
                )
                values = objective.leaf_values(old_scores, grower.leaf_of_row, tree.n_nodes, output)
                if values is None:
                    values = tree.value
                elif self.monotone is not None:
                    raise ValueError(
                        f"{type(self).__name__} sets leaf values by its own rule and cannot keep "
                        "monotone constraints"
                    )
                tree.value[:] = self.learning_rate * values
                add_leaf_values(
                    scores.reshape(n_outputs, -1)[output],
                    grower.leaf_of_row,
                    tree.value,
                    self.n_jobs,
                )
                trees.append(tree)
            yield trees

    def _grower(self, binned: Any) -> TreeGrower:
        if self.monotone is not None and len(self.monotone) != self.n_features_in_:
            raise ValueError(
                f"parameter monotone has {len(self.monotone)} entries but the data has "
                f"{self.n_features_in_} features"
            )
        max_leaf_nodes = binned.n_rows if self.max_leaf_nodes is None else self.max_leaf_nodes
        max_depth = self.max_depth
        if self.tree == "oblivious" and max_depth is None:
            max_depth = min(12, max(1, max_leaf_nodes.bit_length() - 1))
        return TreeGrower(
            binned,
            tree=self.tree,
            max_leaf_nodes=max(2, max_leaf_nodes),
            max_depth=max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_child_weight=self.min_child_weight,
            l2=self.l2,
            min_gain=self.min_gain,
            split_by=self.split_by,
            max_features=self.max_features,
            max_features_tree=self.max_features_tree,
            monotone=self.monotone,
            n_jobs=self.n_jobs,
        )

    def _finish(
        self,
        trees: list[list[Any]],
        background: Background,
        best_iteration: int | None,
        n_outputs: int,
    ) -> None:
        kept = trees if best_iteration is None else trees[:best_iteration]
        new = TreeEnsemble.from_trees(
            [tree for grown in kept for tree in grown],
            self.n_features_in_,
            outputs=np.tile(np.arange(n_outputs), len(kept)),
            base_score=background.base_score,
        )
        self.ensemble_ = background.ensemble(new)
        self.background_: BaseRanker | None = background.apart
        self.n_background_trees_ = self.ensemble_.n_trees - new.n_trees
        self.best_iteration_ = best_iteration
        self.__dict__.pop("_scorer", None)

    def compile(self) -> Scorer:
        """Return the prepared scorer of the ensemble, for serving (``predict`` uses it by itself).

        It gives raw scores: the same as ``predict`` unless the ranker turns several outputs into
        one score.

        Raises
        ------
        ModelError : the model stands on a background model that is not a sum of trees
        """
        self._check_fitted()
        if self.background_ is not None:
            raise ModelError(
                f"this {type(self).__name__} adds its trees to the scores of a background model "
                f"({type(self.background_).__name__}) that is not a sum of the same kind of trees, "
                "so one scorer cannot hold both: use predict"
            )
        return super().compile()

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        scores = super()._scores(X)
        return scores if self.background_ is None else scores + self.background_._scores(X)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield the scores after each iteration (those of a background model included in each)."""
        matrix = self._prediction_matrix(X)
        added = 0.0 if self.background_ is None else self.background_._scores(matrix)
        n_outputs = self.ensemble_.n_outputs
        raw = Scorer(self.ensemble_.head(self.n_background_trees_), fill=self.fill_).predict(
            matrix, n_jobs=self.n_jobs
        )
        for first in range(self.n_background_trees_, self.ensemble_.n_trees, n_outputs):
            step = self.ensemble_.head(first + n_outputs).tail(first)
            raw = raw + Scorer(step, fill=self.fill_).predict(matrix, n_jobs=self.n_jobs)
            yield self._link(raw) + added

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        values["evals_result"] = self.evals_result_
        values["best_iteration"] = self.best_iteration_
        values["n_background_trees"] = self.n_background_trees_
        values["background"] = None
        if self.background_ is not None:
            state, inner = self.background_._get_state()
            values["background"] = state
            arrays.update({f"background/{name}": array for name, array in inner.items()})
        return values, arrays

    def _set_fitted(self, values: dict[str, Any], arrays: Arrays) -> None:
        from rankgrove.rankers.registry import ranker_class

        super()._set_fitted(values, arrays)
        self.evals_result_ = values["evals_result"]
        self.best_iteration_ = values["best_iteration"]
        self.n_background_trees_ = int(values["n_background_trees"])
        self.background_ = None
        if values["background"] is not None:
            inner = {
                name.removeprefix("background/"): array
                for name, array in arrays.items()
                if name.startswith("background/")
            }
            state = values["background"]
            self.background_ = ranker_class(state["ranker"])._from_state(state, inner)
