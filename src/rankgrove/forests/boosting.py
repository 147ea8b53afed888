"""Boosting of forests: algorithm 1 of Generalized BROOF-L2R."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._arrays import read_only
from rankgrove.forests.extension_points import (
    GrownForest,
    LearnerWeight,
    TrainingDocuments,
    constant,
    train,
    unchanged,
)
from rankgrove.forests.growing import ForestGrower, Growth, value_type
from rankgrove.forests.sampling import TreeSample
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Points:
    """The extension points of one fit (see ``extension_points``)."""

    initial_weights: Callable[..., Any]
    example_update: Callable[..., Any]
    validation: Callable[..., Any]
    error: Callable[..., Any]
    learner_weight: Callable[..., Any]
    weight_update: Callable[..., Any]

    @property
    def errors_count(self) -> bool:
        """Whether weights of forests or of documents depend on errors."""
        return self.learner_weight is not constant or self.weight_update is not unchanged


@dataclass
class ForestBoosting:
    """Grows one forest after the other, on documents that are binned once.

    Attributes
    ----------
    documents : labels and queries in grouped order, of this worker
    shard : position of these documents among those of all workers
    predict : from trees to their mean prediction of every training document, in grouped order
    on_forest : called with the trees of each new forest and its own_weight
    forests, learner_weights : of each iteration so far
    weights : of the documents, for the next forest
    """

    documents: TrainingDocuments
    shard: RowShard
    points: Points
    grower: ForestGrower
    growth: Growth
    n_trees: int
    bootstrap: bool
    shrinkage: float
    seed: int
    predict: Callable[[TreeEnsemble], Floats]
    on_forest: Callable[[TreeEnsemble, float], None]
    forests: list[TreeEnsemble] = field(default_factory=list)
    learner_weights: list[float] = field(default_factory=list)
    weights: Floats = field(default_factory=lambda: np.empty(0))

    def steps(self, n_steps: int) -> Iterator[None]:
        """Yield after each iteration, up to ``n_steps`` of them."""
        documents, points, shard = self.documents, self.points, self.shard
        n_rows = len(documents.y)
        initial = _called(points.initial_weights, n_rows, documents)
        if documents.sample_weight is not None:
            initial = initial * documents.sample_weight
        counting = initial > 0  # a document of weight 0 is never drawn and never measured
        self.weights = _distribution(initial, shard)
        targets = documents.y
        predicted, known = np.zeros(n_rows), np.zeros(n_rows, bool)
        for step in range(n_steps):
            if step > 0:
                targets = _called(
                    points.example_update,
                    n_rows,
                    documents,
                    targets,
                    predicted,
                    known,
                    self.shrinkage,
                )
            forest = self._grow(step, targets)
            predicted, known = _checked_validation(points, documents, forest)
            known = known & counting
            errors = _called(points.error, n_rows, documents, targets, predicted, known)
            errors = _scaled(np.where(known, errors, 0.0), shard)
            error = _mean(errors, self.weights, known, shard)
            own_weight = None
            if error < 0.5 or not points.errors_count:
                own_weight = _checked_learner_weight(points, error, self.shrinkage)
            if own_weight is None and self.forests:
                return
            last, own_weight = (
                own_weight is None,
                own_weight or LearnerWeight(beta=1.0, weight=1.0),
            )  # the first is kept anyway
            self.forests.append(forest.trees)
            self.learner_weights.append(own_weight.weight)
            self.on_forest(forest.trees, own_weight.weight)
            self.weights = _distribution(
                _called(points.weight_update, n_rows, self.weights, errors, own_weight.beta, known),
                shard,
            )
            yield
            if last:
                return

    def _grow(self, step: int, targets: Floats) -> GrownForest:
        """Return the forest of an iteration."""
        n_rows = len(targets)
        n_all = self.shard.n_rows
        sample, weight = TreeSample("bootstrap", n_all, self.weights), None
        if not self.bootstrap:  # every tree sees all documents: weights count in its splits
            sample = TreeSample("queries", self.grower.n_queries)
            least, most = self.shard.range(self.weights)
            weight = None if least == most else self.weights * n_all
        prepared = self.grower.targets(targets, by=self.growth.criterion, weight=weight)
        sums, counts = np.zeros(n_rows), np.zeros(n_rows, np.int32)
        grown = self.grower.grow(
            prepared,
            self.growth,
            sample,
            seed=self.seed,
            first_tree=step * self.n_trees,
            n_trees=self.n_trees,
            out_of_bag=None if self.points.validation is train else (sums, counts),
        )
        if grown.interrupted:
            raise KeyboardInterrupt
        trees = TreeEnsemble.from_trees(
            grown.trees,
            self.grower.n_features,
            weights=1.0 / self.n_trees,
            value_type=value_type(targets, self.shard),
        )
        return GrownForest(trees, lambda: self.predict(trees), sums / np.maximum(counts, 1), counts)

    def ensemble(self, n_steps: int, averaged: bool) -> TreeEnsemble:
        """Return the trees of the first iterations, with the weights of their forests."""
        weights = np.array(self.learner_weights[:n_steps])
        factors = weights / weights.sum() if averaged else weights
        forests = [
            replace(forest, tree_weights=forest.tree_weights * factor)
            for forest, factor in zip(self.forests[:n_steps], factors, strict=True)
        ]
        return forests[0].followed_by(*forests[1:])


def _called(function: Callable[..., Any], n_rows: int, *arguments: Any) -> Floats:
    """Call an extension point, which may be user code, and check its result."""
    shown = map(read_only, arguments)
    return _checked(function, n_rows, np.asarray(function(*shown), np.float64))


def _checked(function: Callable[..., Any], n_rows: int, values: Floats) -> Floats:
    """Check the values per document that an extension point returned."""
    name = _name(function)
    if values.shape != (n_rows,):
        raise ValueError(f"{name} returned shape {values.shape} for {n_rows} documents")
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise ValueError(f"{name} returned {values[wrong[0]]} for document {wrong[0]}")
    return values


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _checked_validation(
    points: Points, documents: TrainingDocuments, forest: GrownForest
) -> tuple[Floats, Flags]:
    """Call the extension point of the validation set, and check its result."""
    found = points.validation(documents, forest)
    n_rows = len(documents.y)
    if not isinstance(found, tuple) or len(found) != 2:
        raise ValueError(
            f"{_name(points.validation)} must return two arrays, predictions and which documents "
            f"are known, not a {type(found).__name__}"
        )
    known = np.asarray(found[1])
    if known.shape != (n_rows,) or known.dtype != bool:
        raise ValueError(
            f"{_name(points.validation)} must tell for each of {n_rows} documents whether it is "
            f"known, True or False, not {known.dtype} of shape {known.shape}"
        )
    predicted = np.asarray(found[0], np.float64)
    if predicted.shape == known.shape:
        predicted = np.where(known, predicted, 0.0)
    return _checked(points.validation, n_rows, predicted), known


def _checked_learner_weight(points: Any, error: float, shrinkage: float) -> LearnerWeight | None:
    """Call the extension point for the weight of a forest, and check the result."""
    chosen = points.learner_weight(error, shrinkage)
    if chosen is None:
        return None
    if not isinstance(chosen, LearnerWeight) or not (
        0 < chosen.beta < np.inf and 0 < chosen.weight < np.inf
    ):
        raise ValueError(
            f"learner_weight returned {chosen!r}: it must return a LearnerWeight whose beta and "
            "weight are finite and above 0, or None to stop"
        )
    return chosen


def _distribution(weights: Floats, shard: RowShard) -> Floats:
    """Scale weights so that they sum to 1."""
    total = shard.total(weights)
    if weights.min(initial=0.0) < 0 or total <= 0:
        raise ValueError("weights of documents must not be negative, nor all 0")
    return np.asarray(weights / total)


def _scaled(errors: Floats, shard: RowShard) -> Floats:
    """Divide errors by the largest, so that they lie in [0, 1]."""
    if errors.min(initial=0.0) < 0:
        raise ValueError(f"errors of documents must not be negative, and one is {errors.min()}")
    largest = shard.maximum(errors, 0.0)
    return np.asarray(errors / largest) if largest > 0 else errors


def _mean(errors: Floats, weights: Floats, known: Flags, shard: RowShard) -> float:
    """Return the weighted mean error; 0.5, which ends the boosting, if no document is known."""
    total = shard.total(weights[known])
    return shard.total((errors * weights)[known]) / total if total > 0 else 0.5
