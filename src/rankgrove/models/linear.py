"""A weighted sum of features: what linear rankers learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.columns import Columns
from rankgrove.data.queries import QueryGroups
from rankgrove.errors import ModelError
from rankgrove.models.model import Arrays, Floats, Matrix, Model, kind, per_feature

NORMALISATIONS = ("none", "query-minmax", "query-zscore")


@kind("linear")
@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel(Model):
    """Scores ``sum of weights[j] * x[j]``, x being the features after ``normalised``.

    Attributes
    ----------
    weights : one per feature
    fill : per feature, the finite value that stands in for NaN
    normalisation : ``"none"``; ``"query-minmax"`` maps each feature to [0, 1] within its query (0
        if it is constant there), as LETOR's QueryLevelNorm; ``"query-zscore"`` to mean 0 and
        standard deviation 1
    path : the weights after each step of the fit, shape (n_steps, n_features), or None
    """

    weights: Floats
    fill: npt.NDArray[np.float32]
    normalisation: str = "none"
    path: Floats | None = None

    @property
    def needs_queries(self) -> bool:
        """Whether features are normalised within their query."""
        return self.normalisation != "none"

    @property
    def n_steps(self) -> int:
        """Steps of the fit."""
        return 0 if self.path is None else len(self.path)

    @property
    def size(self) -> str:
        """Number of features that count."""
        return f"{np.count_nonzero(self.weights):,} weights"

    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Score each row."""
        return self._weighted(X, groups, self.weights)

    def stages(
        self,
        X: Matrix,
        groups: QueryGroups | None = None,
        *,
        steps: Sequence[int] | None = None,
        n_jobs: int | None = None,
    ) -> Iterator[Floats]:
        """Yield the scores after each of the steps."""
        if self.path is None:
            yield from super().stages(X, groups, steps=steps, n_jobs=n_jobs)
            return
        for step in range(1, self.n_steps + 1) if steps is None else steps:
            yield self._weighted(X, groups, self.path[step - 1])

    def _weighted(self, X: Matrix, groups: QueryGroups | None, weights: Floats) -> Floats:
        """Add feature by feature in their order: the same bits for any layout and batch."""
        total = np.zeros(len(X))
        for feature in np.flatnonzero(weights):
            column = normalised_column(
                X[:, feature],
                float(self.fill[feature]),
                self.normalisation,
                self.lists(groups) if self.needs_queries else None,
            )
            total += weights[feature] * column
        return total

    def importances(self, kind: str) -> Floats:
        """Refuse: a weight says nothing without the spread of its feature."""
        raise self.refusal(f"tell importances by {kind}", "it has weights; use permutation")

    def with_columns(self, columns: Columns) -> LinearModel:
        """Number the features as these columns do."""
        where = self.columns.places_in(columns, "the data")

        def moved(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            result = np.zeros((*values.shape[:-1], columns.count), values.dtype)
            result[..., where] = values
            return result

        return replace(
            self,
            columns=columns,
            weights=moved(self.weights),
            fill=moved(self.fill),
            path=None if self.path is None else moved(self.path),
        )

    def get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return weights, fill and normalisation."""
        arrays: Arrays = {"weights": self.weights, "fill": self.fill}
        if self.path is not None:
            arrays["path"] = self.path
        return {"normalisation": self.normalisation}, arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, columns: Columns) -> LinearModel:
        """Build the model and check it."""
        weights = per_feature(arrays, "weights", columns.count, np.float64)
        fill = per_feature(arrays, "fill", columns.count)
        if weights is None or fill is None:
            raise ModelError("a linear model needs weights and fill")
        path = arrays.get("path")
        if path is not None and (
            path.ndim != 2 or path.shape[1] != columns.count or path.dtype != np.float64
        ):
            raise ModelError("path does not hold weights of every step")
        for name, array in (("weights", weights), ("fill", fill), ("path", path)):
            if array is not None and not np.isfinite(array).all():
                raise ModelError(f"{name} of a linear model must be finite")
        if values["normalisation"] not in NORMALISATIONS:
            raise ModelError(f"the normalisation {values['normalisation']!r:.100} is unknown")
        return cls(
            columns=columns,
            weights=weights,
            fill=fill,
            normalisation=values["normalisation"],
            path=path,
        )


def normalised_column(
    column: npt.NDArray[Any], fill: float, normalisation: str, groups: QueryGroups | None
) -> Floats:
    """Return a feature in float64 as a linear model sees it: filled, finite and normalised."""
    with np.errstate(over="ignore"):
        values = column.astype(np.float32).astype(np.float64)
    limit = float(np.finfo(np.float32).max)
    values = np.nan_to_num(values, nan=fill, posinf=limit, neginf=-limit)
    if normalisation == "none" or groups is None or not len(values):
        return values
    grouped = groups.grouped(values)
    starts, sizes = groups.offsets[:-1][groups.sizes > 0], groups.sizes[groups.sizes > 0]
    if normalisation == "query-minmax":
        low = np.minimum.reduceat(grouped, starts)
        spread = np.maximum.reduceat(grouped, starts) - low
    else:
        low = np.add.reduceat(grouped, starts) / sizes
        squares = np.add.reduceat((grouped - np.repeat(low, sizes)) ** 2, starts)
        spread = np.sqrt(squares / sizes)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    return groups.restored((grouped - np.repeat(low, sizes)) * np.repeat(scale, sizes))
