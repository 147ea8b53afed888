"""Partial dependence of scores on one feature, or on two."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._arguments import require_integer
from rankgrove._svg import Drawing
from rankgrove.data.core.columns import refuse_other_reading
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.input_checks import groups_of
from rankgrove.errors import DataError
from rankgrove.explain.explanation import feature_names, model_of
from rankgrove.explain.pictures import curve
from rankgrove.models.model import Model

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PartialDependence:
    """Mean lead of a document over its query's list, by the value of a feature (or of two).

    ``values`` at v is the mean over queries, and over their documents, of the score that a document
    would have with the value v, minus the mean score of its query's list as it is. So what all
    documents of a query have in common does not matter, and each query counts once.

    Attributes
    ----------
    features : name of the feature, or of the two
    grids : for each of them, the values that were tried, ascending
    values : shape (len(grids[0]),) or (len(grids[0]), len(grids[1]))
    labels : for each feature, the names of the categories whose codes are in its grid; None for a
        feature of numbers
    n_untried : for each feature, the number of rarer categories in X that are not in its grid
    """

    features: tuple[str, ...]
    grids: tuple[Floats, ...]
    values: Floats
    labels: tuple[tuple[str, ...] | None, ...] = (None, None)
    n_untried: tuple[int, ...] = (0, 0)

    def shown(self, feature: int) -> list[str]:
        """Return the texts of a feature's grid: categories by name, or numbers."""
        names = self.labels[feature]
        if names is not None:
            return list(names)
        return [f"{value:.6g}" for value in self.grids[feature].tolist()]

    @property
    def interaction(self) -> float:
        """Share of two features' joint effect that is more than the sum of both (0 to 1).

        Friedman's H^2 (2008) on the grid: the variance of what remains of ``values`` without its
        means over either axis, divided by its variance.
        """
        if len(self.features) != 2:
            raise ValueError("an interaction needs two features")
        centred = self.values - self.values.mean()
        rows, columns = centred.mean(axis=1, keepdims=True), centred.mean(axis=0, keepdims=True)
        total = float((centred**2).sum())
        return float(((centred - rows - columns) ** 2).sum()) / total if total > 0 else 0.0

    @property
    def title(self) -> str:
        """What the values are."""
        return f"mean lead over the query's list, by {' and '.join(self.features)}"

    def plot(self, title: str | None = None) -> Drawing:
        """Draw the lead by the value of the feature; a line for each value of a second one."""
        return curve(
            self.title if title is None else title,
            self.features[0],
            self.grids[0],
            self.values,
            self.labels[0],
            [f"{name} = {value}" for name in self.features[1:] for value in self.shown(1)],
        )

    def _repr_html_(self) -> str:
        return str(self.plot())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        result: dict[str, Any] = {
            "features": list(self.features),
            "grids": [
                grid.tolist() if names is None else list(names)
                for grid, names in zip(self.grids, self.labels, strict=False)
            ],
            "values": self.values.tolist(),
            "untried": list(self.n_untried),
        }
        if len(self.features) == 2:
            result["interaction"] = self.interaction
        return result


def partial_dependence(
    ranker: Any,
    X: Any,
    features: str | int | Sequence[str | int],
    qid: Any = None,
    *,
    group_sizes: Any = None,
    n_values: int = 20,
    n_jobs: int | None = None,
) -> PartialDependence:
    """Compute how scores depend on one feature or on two.

    Parameters
    ----------
    ranker : a fitted ranker, or a model
    X : matrix, data frame or Dataset; columns are taken by name where names are known
    features : name or number (from 0) of a feature, or two of them
    qid, group_sizes : the queries (a Dataset brings its own)
    n_values : largest number of values of a feature that are tried: quantiles of those in X, or the
        most frequent categories

    Raises
    ------
    ModelError : a model that scores a document against the others of its query
    """
    model = model_of(ranker)
    if model.needs_queries:
        raise model.refusal("tell partial dependence", "a document's score depends on the others")
    require_integer(n_values, "n_values", 2)
    matrix = model.columns.match(X).to_array("partial_dependence")
    refuse_other_reading(X, model.absent, "partial_dependence")
    groups = groups_of(X, qid, group_sizes, len(matrix), "partial_dependence")
    if len(matrix) == 0:
        raise DataError("partial_dependence: there are no rows")
    one = not isinstance(features, Iterable) or isinstance(features, str)
    wanted: list[Any] = [features] if one else list(features)  # type: ignore[arg-type]
    for feature in wanted:
        if not isinstance(feature, str | Integral):
            raise ValueError(f"a feature is a name or a number, not {feature!r:.60}")
    if len(wanted) not in (1, 2):
        raise ValueError(f"features must be one or two features, not {len(wanted)}")
    columns = [_column(model, feature) for feature in wanted]
    if len(set(columns)) < len(columns):
        raise ValueError(f"features must be two different features, not twice {wanted[0]!r}")
    grids = tuple(_grid(matrix[:, column], n_values, model, column) for column in columns)
    known = [model.columns.categories.get(column) for column in columns]
    threads = getattr(ranker, "n_jobs", None) if n_jobs is None else n_jobs
    names = feature_names(model)
    return PartialDependence(
        tuple(names[column] for column in columns),
        grids,
        _leads(model, matrix, groups, columns, grids, threads),
        tuple(
            None if found is None else tuple(found.name(int(code)) for code in grid)
            for found, grid in zip(known, grids, strict=True)
        ),
        tuple(
            0 if found is None else int(np.isfinite(np.unique(matrix[:, column])).sum()) - len(grid)
            for found, column, grid in zip(known, columns, grids, strict=True)
        ),
    )


def _leads(
    model: Model,
    matrix: npt.NDArray[Any],
    groups: QueryGroups,
    columns: list[int],
    grids: tuple[Floats, ...],
    n_jobs: int | None,
) -> Floats:
    """Return the mean lead at each point of the grid."""
    sizes = groups.sizes[groups.sizes > 0]
    weight = groups.restored(np.repeat(1.0 / (len(sizes) * sizes), sizes))
    base = float(weight @ model.scores(matrix, groups, n_jobs))
    changed = matrix.copy()
    values = np.empty([len(grid) for grid in grids])
    for place in np.ndindex(values.shape):
        for column, grid, k in zip(columns, grids, place, strict=True):
            changed[:, column] = grid[k]
        values[place] = weight @ model.scores(changed, groups, n_jobs) - base
    return values


def _column(model: Model, feature: str | int) -> int:
    names = feature_names(model)
    if isinstance(feature, str):
        if feature not in names:
            near = difflib.get_close_matches(feature, names, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise DataError(f"the model has no feature {feature!r}{hint}")
        return names.index(feature)
    if not 0 <= feature < len(names):
        raise DataError(f"there is no feature {feature}: the model has 0 to {len(names) - 1}")
    return int(feature)


def _grid(column: npt.NDArray[Any], n_values: int, model: Model, number: int) -> Floats:
    """Return the distinct quantiles of the finite values."""
    finite = column[np.isfinite(column)].astype(np.float64)
    if len(finite) == 0:
        name = feature_names(model)[number]
        raise DataError(f"the feature {name!r} has no value in X: all are missing or infinite")
    distinct, counts = np.unique(finite, return_counts=True)
    if len(distinct) <= n_values:
        return distinct
    if number in model.columns.categories:
        return np.sort(distinct[np.argsort(-counts, kind="stable")[:n_values]])
    quantiles = np.quantile(finite, np.linspace(0, 1, n_values), method="nearest")
    return np.unique(quantiles)
