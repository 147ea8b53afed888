"""The extension points of BROOF: five functions, with the variants of the paper by name.

(De Sá, Gonçalves, Sousa and Salles, "Generalized BROOF-L2R: A General Framework for Learning to
Rank Based on Boosting and Random Forests", 2016.) Each may be replaced by a function of the same
signature. All arrays have one entry per document, in grouped order (query by query); *known* tells
which documents the validation set holds.

The paper's COMPUTELEARNERWEIGHTS is cut in two: errors of documents, and what follows from their
weighted mean. Errors are divided by their maximum before they are used, as in AdaBoost.R2, so that
they lie in [0, 1], and example weights are kept summing to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._arrays import read_only
from rankgrove.trees.ensemble import TreeEnsemble

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TrainingDocuments:
    """The training documents that extension points get: read-only.

    Attributes
    ----------
    y : labels
    query : number of each document's query, ascending
    relevant : whether the label counts as relevant
    rng : the source of everything random
    sample_weight : the caller's weights, by which initial weights are multiplied, or None
    n_documents, first_document : documents of all workers, and the number of the first of these;
        None: these are all
    """

    y: Floats
    query: npt.NDArray[np.int64]
    relevant: Flags
    rng: np.random.Generator
    sample_weight: Floats | None = None
    n_documents: int | None = None
    first_document: int = 0

    def __post_init__(self) -> None:
        for name in ("y", "query", "relevant", "sample_weight"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


@dataclass(frozen=True)
class GrownForest:
    """The forest of one iteration, as the validation set gets it.

    Attributes
    ----------
    trees : of the forest, whose mean is its prediction
    predict : returns the prediction of every training document by all trees
    out_of_bag : prediction by the trees whose sample did not hold the document; 0 without any
    n_out_of_bag : number of these trees
    """

    trees: TreeEnsemble
    predict: Callable[[], Floats]
    out_of_bag: Floats
    n_out_of_bag: npt.NDArray[np.int32]


@dataclass(frozen=True)
class LearnerWeight:
    """The weight of a learner in the model.

    Attributes
    ----------
    beta : factor by which example weights shrink where the learner makes no error
    weight : factor of the learner in the final sum
    """

    beta: float
    weight: float


# INITIALIZEWEIGHTS: documents -> weights.


def uniform(documents: TrainingDocuments) -> Floats:
    """Give every document the same weight."""
    n_documents = len(documents.y) if documents.n_documents is None else documents.n_documents
    return np.full(len(documents.y), 1.0 / n_documents)


def random(documents: TrainingDocuments) -> Floats:
    """Draw weights uniformly from [0, 1)."""
    if documents.first_document:  # one number for each document
        documents.rng.bit_generator.advance(documents.first_document)  # type: ignore[attr-defined]
    return documents.rng.random(len(documents.y))


# UPDATEEXAMPLES: documents, targets, predictions of the last learner, known, shrinkage -> targets.


def identity(
    documents: TrainingDocuments, targets: Floats, predicted: Floats, known: Flags, shrinkage: float
) -> Floats:
    """Keep the labels as targets."""
    return documents.y


def residue(
    documents: TrainingDocuments, targets: Floats, predicted: Floats, known: Flags, shrinkage: float
) -> Floats:
    """Subtract the shrunken prediction of the validation set; other targets stay."""
    return np.where(known, targets - shrinkage * predicted, targets)


# VALIDATIONSET: documents, forest -> predictions, known.


def oob(documents: TrainingDocuments, forest: GrownForest) -> tuple[Floats, Flags]:
    """Predict documents by the trees that did not see them, as far as there are such trees."""
    return forest.out_of_bag, forest.n_out_of_bag > 0


def train(documents: TrainingDocuments, forest: GrownForest) -> tuple[Floats, Flags]:
    """Predict every document by all trees."""
    return forest.predict(), np.ones(len(documents.y), bool)


# Errors: documents, targets, predictions, known -> errors >= 0.


def absolute(
    documents: TrainingDocuments, targets: Floats, predicted: Floats, known: Flags
) -> Floats:
    """Distance of the prediction to the target."""
    return np.abs(targets - predicted)


def median(
    documents: TrainingDocuments, targets: Floats, predicted: Floats, known: Flags
) -> Floats:
    """Distance to the median prediction of the documents of the same query and label."""
    errors = np.zeros(len(targets))
    rows = np.flatnonzero(known)
    order = rows[np.lexsort((predicted[rows], documents.y[rows], documents.query[rows]))]
    if not len(order):
        return errors
    query, label = documents.query[order], documents.y[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(query) != 0) | (np.diff(label) != 0)])
    sizes = np.diff(np.r_[starts, len(order)])
    values = predicted[order]
    middle = (values[starts + (sizes - 1) // 2] + values[starts + sizes // 2]) / 2
    errors[order] = np.abs(values - np.repeat(middle, sizes))
    return errors


def height(
    documents: TrainingDocuments, targets: Floats, predicted: Floats, known: Flags
) -> Floats:
    """Count irrelevant documents above a relevant one, and relevant ones below an irrelevant one.

    Divided by the most that the query allows. Of two documents with equal predictions, each stands
    half above the other.
    """
    errors = np.zeros(len(targets))
    rows = np.flatnonzero(known)
    order = rows[np.lexsort((-predicted[rows], documents.query[rows]))]
    if not len(order):
        return errors
    query, relevant = documents.query[order], documents.relevant[order]
    new_query = np.r_[True, np.diff(query) != 0]
    starts = np.flatnonzero(new_query)
    ties = np.flatnonzero(new_query | np.r_[True, np.diff(predicted[order]) != 0])
    sizes, tie_sizes = (np.diff(np.r_[begin, len(order)]) for begin in (starts, ties))

    def within(counts: Floats) -> tuple[Floats, Floats]:
        """Return the number above each document in its query, and in the whole query."""
        before: Floats = np.cumsum(counts) - counts
        above = np.repeat(before[ties] + 0.5 * np.add.reduceat(counts, ties), tie_sizes)
        total: Floats = np.add.reduceat(counts, starts)
        return above - np.repeat(before[starts], sizes), np.repeat(total, sizes)

    irrelevant_above, n_irrelevant = within((~relevant).astype(np.float64))
    relevant_above, n_relevant = within(relevant.astype(np.float64))
    wrong = np.where(relevant, irrelevant_above, n_relevant - relevant_above)
    errors[order] = wrong / np.maximum(np.where(relevant, n_irrelevant, n_relevant), 1.0)
    return errors


# Learner weight: weighted mean error, below 0.5, and shrinkage -> LearnerWeight, or None to end the
# boosting.

_SMALLEST = 1e-12  # a learner without error has a finite weight


def _beta(error: float, shrinkage: float) -> float:
    error = min(max(error, _SMALLEST), 1.0 - _SMALLEST)
    return shrinkage * error / (1.0 - error)


def log(error: float, shrinkage: float) -> LearnerWeight:
    """Return log(1 / beta), beta = shrinkage * error / (1 - error): it grows with accuracy."""
    beta = _beta(error, shrinkage)
    return LearnerWeight(beta, math.log(1.0 / beta))


def beta(error: float, shrinkage: float) -> LearnerWeight:
    """Return beta itself, the paper's literal formula, which shrinks with accuracy."""
    value = _beta(error, shrinkage)
    return LearnerWeight(value, value)


def constant(error: float, shrinkage: float) -> LearnerWeight:
    """Give every learner the same weight."""
    return LearnerWeight(shrinkage, shrinkage)


# UPDATEEXAMPLEWEIGHTS: weights, errors, beta, known -> weights.


def of_known(weights: Floats, errors: Floats, beta: float, known: Flags) -> Floats:
    """Multiply by beta^(1 - error) for documents of the validation set."""
    return np.where(known, weights * beta ** (1.0 - errors), weights)


def unchanged(weights: Floats, errors: Floats, beta: float, known: Flags) -> Floats:
    """Keep the weights."""
    return weights


INITIAL_WEIGHTS: Mapping[str, Callable[..., Any]] = {"uniform": uniform, "random": random}
EXAMPLE_UPDATES: Mapping[str, Callable[..., Any]] = {"identity": identity, "residue": residue}
VALIDATION_SETS: Mapping[str, Callable[..., Any]] = {"oob": oob, "train": train}
ERRORS: Mapping[str, Callable[..., Any]] = {
    "absolute": absolute,
    "median": median,
    "height": height,
}
LEARNER_WEIGHTS: Mapping[str, Callable[..., Any]] = {"log": log, "beta": beta, "constant": constant}
WEIGHT_UPDATES: Mapping[str, Callable[..., Any]] = {
    "oob": of_known,
    "train": of_known,
    "constant": unchanged,
}
