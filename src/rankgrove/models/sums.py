"""Weighted sums of models: an init model plus its continuation, or a blend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import ModelError
from rankgrove.models.linear import LinearModel
from rankgrove.models.model import (
    Arrays,
    Floats,
    Matrix,
    Model,
    kind,
    pack_model,
    unpack_model,
    with_prefix,
    without_prefix,
)
from rankgrove.models.trees import TreesModel, either, same_values
from rankgrove.trees.links import IDENTITY

MAX_PARTS = 1000


@kind("sum")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SumModel(Model):
    """A weighted sum of models that cannot be merged into one ensemble; see ``add_up``.

    Attributes
    ----------
    parts : the models, all with the sum's columns
    weights : factor of each part's scores
    in_steps : whether the steps of the last part are the sum's; the parts of a mean or a blend were
        trained side by side, and it has no steps
    """

    parts: tuple[Model, ...]
    weights: tuple[float, ...]
    in_steps: bool = True

    def __post_init__(self) -> None:
        if any(part.columns.double for part in self.parts):
            object.__setattr__(self, "columns", replace(self.columns, double=True))

    @property
    def needs_queries(self) -> bool:
        """Whether one of the parts needs whole queries."""
        return any(part.needs_queries for part in self.parts)

    @property
    def constant(self) -> bool:
        """Whether all parts give constant scores."""
        return all(part.constant for part in self.parts)

    @property
    def n_steps(self) -> int:
        """Steps of the last part, 0 if they are not the sum's."""
        return self.parts[-1].n_steps if self.in_steps else 0

    @property
    def size(self) -> str:
        """Sizes of the parts."""
        return " + ".join(part.size for part in self.parts)

    def uncertain(self, X: Matrix) -> int:
        """Return the sum of the counts of the parts."""
        return sum(part.uncertain(X) for part in self.parts)

    def work(self, n_rows: int, groups: QueryGroups | None = None) -> int:
        """Return the sum of the work of the parts."""
        return sum(part.work(n_rows, groups) for part in self.parts)

    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Return the weighted sum of the scores of the parts."""
        total = np.zeros(len(X))
        for weight, part in zip(self.weights, self.parts, strict=True):
            total += weight * part.scores(X, groups, n_jobs)
        return total

    def stages(
        self,
        X: Matrix,
        groups: QueryGroups | None = None,
        *,
        steps: Sequence[int] | None = None,
        n_jobs: int | None = None,
    ) -> Iterator[Floats]:
        """Yield the scores after steps of the last part, the scores of all other parts included."""
        if not self.in_steps:
            yield from super().stages(X, groups, steps=steps, n_jobs=n_jobs)
            return
        before = np.zeros(len(X))
        for weight, part in zip(self.weights[:-1], self.parts[:-1], strict=True):
            before += weight * part.scores(X, groups, n_jobs)
        for scores in self.parts[-1].stages(X, groups, steps=steps, n_jobs=n_jobs):
            yield before + self.weights[-1] * scores

    def importances(self, kind: str) -> Floats:
        """Return the sum of the importances of the parts."""
        return np.asarray(np.sum([part.importances(kind) for part in self.parts], axis=0))

    def with_columns(self, columns: Columns) -> SumModel:
        """Return the sum for data with these columns."""
        parts = tuple(part.with_columns(columns) for part in self.parts)
        return replace(self, columns=columns, parts=parts)

    def get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the states of the parts, numbered."""
        packed = [pack_model(part) for part in self.parts]
        arrays: Arrays = {}
        for number, (_, inner) in enumerate(packed):
            arrays.update(with_prefix(f"part{number}", inner))
        values = {"parts": [values for values, _ in packed], "weights": list(self.weights)}
        return values | ({} if self.in_steps else {"in_steps": False}), arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, columns: Columns) -> SumModel:
        """Build the parts."""
        states, weights = values["parts"], values["weights"]
        if (
            not isinstance(states, list)
            or not isinstance(weights, list)
            or not 1 <= len(states) == len(weights) <= MAX_PARTS
            or not all(isinstance(w, float) and np.isfinite(w) for w in weights)
        ):
            raise ModelError("a sum of models needs parts, and a finite weight for each")
        parts = tuple(
            unpack_model(state, without_prefix(f"part{number}", arrays))
            for number, state in enumerate(states)
        )
        if any(part.columns != columns for part in parts):
            raise ModelError("the parts of a sum of models differ in their columns")
        in_steps = values.get("in_steps", True)
        if type(in_steps) is not bool:
            raise ModelError(f"in_steps is {in_steps!r:.100}")
        return cls(columns=columns, parts=parts, weights=tuple(weights), in_steps=in_steps)


def add_up(
    models: Iterable[Model], weights: Iterable[float] | None = None, columns: Columns | None = None
) -> Model:
    """Add models: columns are matched by name, and adjacent tree models are merged into one.

    Parameters
    ----------
    models : in the order of training: the steps of the last are the sum's steps
    weights : factor of each; 1 if None
    columns : the columns of the sum; None: those of the last model
    """
    given = list(models)
    factors = [1.0] * len(given) if weights is None else [float(weight) for weight in weights]
    if not given or len(factors) != len(given):
        raise ModelError(f"{len(factors)} weights for a sum of {len(given)} models")
    if columns is None:
        columns = given[-1].columns.with_values_of(model.columns for model in given[:-1])
    own = columns
    parts: list[Model] = []
    kept: list[float] = []
    for part, factor in _flat(given, factors):
        _add_part(parts, kept, part.with_columns(own), factor)
    if len(parts) > MAX_PARTS:
        raise ModelError(f"a sum of {len(parts):,} models: at most {MAX_PARTS:,} can be one model")
    if len(parts) == 1 and kept[0] == 1.0:
        return replace(parts[0], absent=given[-1].absent)
    return SumModel(columns=own, absent=given[-1].absent, parts=tuple(parts), weights=tuple(kept))


def side_by_side(models: Sequence[Model], weights: Sequence[float]) -> Model:
    """Add models that were trained side by side, with weights: trees that add up are one ensemble.

    The sum has no steps. All models have the same columns.
    """
    if len(models) > MAX_PARTS:
        raise ModelError(f"a sum of {len(models):,} models: at most {MAX_PARTS:,} can be one model")
    plain = [model.plain() if isinstance(model, TreesModel) else model for model in models]
    merged = _merged_trees(plain, weights)
    if merged is not None:
        return merged
    first = models[0]
    return SumModel(
        columns=first.columns,
        absent=first.absent,
        parts=tuple(models),
        weights=tuple(float(weight) for weight in weights),
        in_steps=False,
    )


def as_one_linear(model: Model) -> Model:
    """Return a sum of linear models as one of them; any other model as it is.

    Models add up to one if they normalise features alike and fill missing values alike.
    """
    if not isinstance(model, SumModel):
        return model
    parts = [part for part in model.parts if isinstance(part, LinearModel)]
    if len(parts) < len(model.parts):
        return model
    first = parts[0]
    if not all(
        part.normalisation == first.normalisation and same_values(part.fill, first.fill)
        for part in parts
    ):
        return model
    weights = np.sum([w * part.weights for w, part in zip(model.weights, parts, strict=True)], 0)
    return replace(first, absent=model.absent, weights=weights, path=None)


def _merged_trees(models: Sequence[Model], weights: Sequence[float]) -> TreesModel | None:
    """Return one ensemble of the trees of all models; None if they do not add up."""
    trees = [model for model in models if isinstance(model, TreesModel) and model.link == IDENTITY]
    if len(trees) < len(models):
        return None
    first = trees[0]
    if not all(same_values(first.missing_up_to, part.missing_up_to) for part in trees):
        return None
    if not all(same_values(first.fill, part.fill) for part in trees):
        trees = [part.without_fill() for part in trees]
    scaled = [_scaled(part, float(weight)) for part, weight in zip(trees, weights, strict=True)]
    whole = scaled[0].ensemble.followed_by(*(part.ensemble for part in scaled[1:]))
    return replace(
        scaled[0],
        ensemble=whole,
        n_init_trees=whole.n_trees,
        trees_per_step=1,
        averaged=False,
        saw_missing=reduce(either, [part.saw_missing for part in trees]),
    )


def _flat(models: Sequence[Model], factors: Sequence[float]) -> Iterator[tuple[Model, float]]:
    for model, factor in zip(models, factors, strict=True):
        if isinstance(model, SumModel):
            yield from _flat(model.parts, [factor * weight for weight in model.weights])
        else:
            yield model, factor


def _add_part(parts: list[Model], kept: list[float], part: Model, factor: float) -> None:
    """Append a part, or merge it into the part before it."""
    if isinstance(part, TreesModel):
        part = part.plain()
    if isinstance(part, TreesModel) and part.link == IDENTITY and factor != 1.0:
        part, factor = _scaled(part, factor), 1.0
    before = parts[-1] if parts and kept[-1] == factor == 1.0 else None
    if isinstance(before, TreesModel) and isinstance(part, TreesModel) and part.link == IDENTITY:
        merged = before.followed_by(part)
        if merged is not None:
            parts[-1] = merged
            return
    parts.append(part)
    kept.append(factor)


def _scaled(model: TreesModel, factor: float) -> TreesModel:
    trees = model.ensemble
    ensemble = replace(
        trees, tree_weights=factor * trees.tree_weights, base_score=factor * trees.base_score
    )
    return replace(model, ensemble=ensemble)
