"""Shapley values of each feature, by the kind of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.feature_matrix import Array
from rankgrove.explain.shapley import (
    expected_outputs,
    shapley_interactions,
    shapley_values,
)
from rankgrove.models.calibrated import CalibratedModel
from rankgrove.models.linear import LinearModel, normalised_column
from rankgrove.models.model import Model
from rankgrove.models.sums import SumModel
from rankgrove.models.trees import TreesModel
from rankgrove.trees.links import IDENTITY, ScalarLink

Floats = npt.NDArray[np.float64]

# What is explained where a link follows the trees: the order of documents is the same.
_SCALES = {"identity": "score", "sigmoid": "log-odds", "exp": "log of the score"}


@dataclass(frozen=True)
class Contributions:
    """Shapley values of a matrix.

    Attributes
    ----------
    values : shape (rows, features), or (rows, features, features) for pairs
    expected : the score of a document of which nothing is known
    scale : what ``expected`` plus a row's values is
    """

    values: Floats
    expected: float
    scale: str = "score"


@singledispatch
def contributions(
    model: Model, X: Array, groups: QueryGroups | None, n_jobs: int | None, pairs: bool
) -> Contributions:
    """Return what each feature, or each pair of them, adds to each row's score."""
    raise model.refusal(
        "tell what each feature contributes",
        "its scores are no sums over features",
    )


@contributions.register
def _(
    model: TreesModel,
    X: Array,
    groups: QueryGroups | None,
    n_jobs: int | None,
    pairs: bool,
) -> Contributions:
    if not isinstance(model.link, ScalarLink):
        raise model.refusal(
            "tell what each feature contributes",
            f"its score is no sum but the expected gain of {model.ensemble.n_outputs} outputs",
        )
    compute: Callable[..., Floats] = shapley_interactions if pairs else shapley_values
    values = compute(model.ensemble, X, model.fill, model.missing_up_to, n_jobs=n_jobs)
    return Contributions(
        values[:, 0], float(expected_outputs(model.ensemble)[0]), _SCALES[model.link.name]
    )


@contributions.register
def _(
    model: LinearModel,
    X: Array,
    groups: QueryGroups | None,
    n_jobs: int | None,
    pairs: bool,
) -> Contributions:
    """Return ``weight * (value - mean)``, where the mean is over the rows of X."""
    lists = model.lists(groups) if model.needs_queries else None
    n_features = X.shape[1]
    values = np.zeros((len(X), n_features, n_features) if pairs else (len(X), n_features))
    expected = 0.0
    for feature in np.flatnonzero(model.weights) if len(X) else ():
        fill = float(model.fill[feature])
        column = normalised_column(X[:, feature], fill, model.normalisation, lists)
        mean = float(column.mean())
        own = values[:, feature, feature] if pairs else values[:, feature]
        own[:] = model.weights[feature] * (column - mean)
        expected += float(model.weights[feature]) * mean
    return Contributions(values, expected)


@contributions.register
def _(
    model: CalibratedModel,
    X: Array,
    groups: QueryGroups | None,
    n_jobs: int | None,
    pairs: bool,
) -> Contributions:
    return contributions(model.inner, X, groups, n_jobs, pairs)


@contributions.register
def _(
    model: SumModel,
    X: Array,
    groups: QueryGroups | None,
    n_jobs: int | None,
    pairs: bool,
) -> Contributions:
    for part in model.parts:
        if isinstance(part, TreesModel) and part.link != IDENTITY:
            raise model.refusal(
                "tell what each feature contributes", "a part of the sum has a link after its trees"
            )
    n_features = X.shape[1]
    total = np.zeros((len(X), n_features, n_features) if pairs else (len(X), n_features))
    expected = 0.0
    for weight, part in zip(model.weights, model.parts, strict=True):
        found = contributions(part, X, groups, n_jobs, pairs)
        total += weight * found.values
        expected += weight * found.expected
    return Contributions(total, expected)
