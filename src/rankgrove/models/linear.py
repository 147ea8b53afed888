"""The model of linear rankers: a weighted sum of features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.dense import as_matrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.errors import ModelError
from rankgrove.models.linear_features import NORMALISATIONS, LinearFeatures
from rankgrove.models.model import Arrays, Floats, Matrix, Model, kind, per_feature


@kind("linear")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
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
    def constant(self) -> bool:
        """Whether all weights are 0."""
        return not self.weights.any()

    @property
    def n_steps(self) -> int:
        """Steps of the fit."""
        return 0 if self.path is None else len(self.path)

    @property
    def size(self) -> str:
        """Number of features with a weight other than 0, as text."""
        return f"{np.count_nonzero(self.weights):,} weights"

    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Score each row."""
        return next(self._weighted(X, groups, self.weights[None], n_jobs))

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
        chosen = np.arange(self.n_steps) if steps is None else np.asarray(steps, np.int64) - 1
        yield from self._weighted(X, groups, self.path[chosen], n_jobs)

    def _weighted(
        self, X: Matrix, groups: QueryGroups | None, path: Floats, n_jobs: int | None
    ) -> Iterator[Floats]:
        """Yield the scores under each of several weight vectors."""
        lists = self.lists(groups) if self.needs_queries else None
        used = np.flatnonzero(path.any(axis=0))
        matrix, fill = as_matrix(X), self.fill
        if len(used) < path.shape[1] // 4:  # of few features
            matrix, fill, path = matrix.select_columns(used.tolist()), fill[used], path[:, used]
        if matrix.entries is not None and lists is None:
            yield from _weighted_blocks(matrix, fill, path, n_jobs)
            return
        array = matrix.to_array(f"a linear model with normalisation={self.normalisation!r}")
        features = LinearFeatures.of(array, fill, lists, self.normalisation, n_jobs=n_jobs)
        for weights in np.ascontiguousarray(path):
            scores = features.scores(weights)
            yield scores if lists is None else lists.restored(scores)

    def importances(self, kind: str) -> Floats:
        """Raise an error: a weight means nothing without the spread of its feature."""
        raise self.refusal(f"tell importances by {kind}", "it has weights; use permutation")

    def with_columns(self, columns: Columns) -> LinearModel:
        """Return the model with its weights in the order of these columns."""
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
    """Return a feature in float64 as a linear model uses it: filled, finite and normalised."""
    lists = None if normalisation == "none" else groups
    features = LinearFeatures.of(
        column[:, None], np.array([fill], np.float32), lists, normalisation, training=True
    )
    values = features.column(0)
    return values if lists is None else lists.restored(values)


def _weighted_blocks(
    X: FeatureMatrix, fill: npt.NDArray[np.float32], path: Floats, n_jobs: int | None
) -> Iterator[Floats]:
    """Yield the scores under several weight vectors; sparse rows are made dense in blocks."""
    scores = np.empty((len(path), len(X)))
    begin = 0
    for array in X.row_blocks():
        block = LinearFeatures.of(array, fill, n_jobs=n_jobs)
        for weights, row in zip(np.ascontiguousarray(path), scores, strict=True):
            row[begin : begin + len(array)] = block.scores(weights)
        begin += len(array)
    yield from scores
