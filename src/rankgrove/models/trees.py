"""The model of boosted rankers, forests and imported models: a weighted sum of trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.dense import as_matrix
from rankgrove.errors import ModelError
from rankgrove.models.category_codes import recoded_sets
from rankgrove.models.model import (
    Arrays,
    Floats,
    Matrix,
    Model,
    kind,
    per_feature,
    with_prefix,
    without_prefix,
)
from rankgrove.trees.category_sets import SET_TYPES, CategorySets
from rankgrove.trees.ensemble import TreeEnsemble, feature_type
from rankgrove.trees.links import IDENTITY, GradeSum, Link, ScalarLink, link_from_state
from rankgrove.trees.precise import as_compared, has_precise_thresholds
from rankgrove.trees.scorer import Scorer, check_ensemble

_N_INIT_TREES = "n_background_trees"  # the key of ``n_init_trees`` in model files of every version

Float32s = npt.NDArray[np.float32]


@kind("trees")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TreesModel(Model):
    """A weighted sum of trees, per output, and the link that turns outputs into one score.

    Attributes
    ----------
    ensemble : the trees
    fill : per feature, the value that stands in for NaN (NaN: it stays missing); None: all stay
    missing_up_to : per feature, the magnitude up to which a value counts as missing as well (models
        of other libraries); None: only NaN is missing
    link : from outputs to the score
    n_init_trees : trees of the init model, which come before the first step
    trees_per_step : trees that one step of the fit added
    averaged : whether a score is the mean of the steps, not their sum: then the scores after part
        of the steps are the mean of these
    saw_missing : whether a number was missing in the training data; None: not known
    """

    ensemble: TreeEnsemble
    fill: Float32s | None = None
    missing_up_to: Float32s | None = None
    link: Link = IDENTITY
    n_init_trees: int = 0
    trees_per_step: int = 1
    averaged: bool = False
    saw_missing: bool | None = None

    def __post_init__(self) -> None:
        if has_precise_thresholds(self.ensemble):
            object.__setattr__(self, "columns", replace(self.columns, double=True))

    @cached_property
    def scorer(self) -> Scorer:
        """The prepared scorer, which computes the scores of the model."""
        return Scorer(
            self.ensemble,
            self.fill,
            self.missing_up_to,
            columns=self.columns,
            absent=self.absent,
            link=self.link,
        )

    def compile(self) -> Scorer:
        """Return the prepared scorer."""
        return self.scorer

    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Score each row; queries are ignored."""
        return self.scorer.predict(as_matrix(X), n_jobs=n_jobs)

    @property
    def tells_probabilities(self) -> bool:
        """Whether scores come from a logistic function."""
        return self.link == ScalarLink("sigmoid")

    def probability_of(self, scores: Floats) -> Floats:
        """Return the scores themselves if they come from a logistic function."""
        return scores if self.tells_probabilities else super().probability_of(scores)

    def uncertain(self, X: Matrix) -> int:
        """Count the values whose unrounded float64 may lie on the other side of a threshold."""
        if not self.columns.double:
            return 0
        values = as_matrix(X).to_array("a model that compares in float64")
        return self.scorer.uncertain(values.astype(np.float32, copy=False))

    @property
    def size(self) -> str:
        """Number of trees."""
        return f"{self.ensemble.n_trees:,} trees"

    @property
    def constant(self) -> bool:
        """Whether no tree has a split."""
        return bool((self.ensemble.left < 0).all())

    @property
    def n_steps(self) -> int:
        """Number of steps: boosting iterations, or trees of a forest."""
        return (self.ensemble.n_trees - self.n_init_trees) // self.trees_per_step

    def stages(
        self,
        X: Matrix,
        groups: QueryGroups | None = None,
        *,
        steps: Sequence[int] | None = None,
        n_jobs: int | None = None,
    ) -> Iterator[Floats]:
        """Yield the scores after each of the steps, trees of the init model included."""
        n_threads = resolve_n_jobs(n_jobs)
        first, size = self.n_init_trees, self.trees_per_step
        weights = np.r_[0.0, np.cumsum(self.ensemble.tree_weights)]
        raw, done = None, 0
        for step in range(1, self.n_steps + 1) if steps is None else steps:
            last = first + step * size
            head = self.ensemble.head(last)
            if raw is None:  # one sum from the first tree on, as of the whole model
                raw = self._outputs_of(head, X, n_jobs)
            else:
                raw = raw + self._outputs_of(head.tail(done), X, n_jobs)
            done = last
            share = weights[last] / weights[-1] if self.averaged else 1.0
            yield self.link.apply(np.ascontiguousarray(raw.T) / share, n_threads)

    def _outputs_of(self, trees: TreeEnsemble, X: Matrix, n_jobs: int | None) -> Floats:
        return Scorer(trees, self.fill, self.missing_up_to).raw(X, n_jobs=n_jobs)

    def leaves(self, X: Matrix, n_jobs: int | None = None) -> npt.NDArray[np.int32]:
        """Return the leaf of every row in every tree, as its number within the tree."""
        trees, fill = self.ensemble, self.fill
        if self.missing_up_to is not None:
            raise self.refusal("tell the leaves of documents", "it takes other values for missing")
        matrix = as_matrix(X)
        if matrix.entries is not None:
            narrow, used = trees.narrowed()
            part = replace(self, ensemble=narrow, fill=None if fill is None else fill[used])
            blocks = [part.leaves(block, n_jobs) for block in matrix.row_blocks(used, n_jobs)]
            return np.concatenate(blocks) if blocks else np.empty((0, trees.n_trees), np.int32)
        trees, array, fill, _ = as_compared(trees, matrix.to_array(), fill, None)
        values = array.astype(np.float32, copy=False)
        leaves = _native.find_leaves(trees, values, fill, resolve_n_jobs(n_jobs))
        return leaves.reshape(len(array), trees.n_trees)

    def importances(self, kind: str) -> Floats:
        """Return the sum of split gains, or the number of splits, per feature."""
        return self.ensemble.importances(kind)

    def with_columns(self, columns: Columns) -> TreesModel:
        """Return the model with its features renumbered for these columns."""
        where = self.columns.places_in(columns, "the data")
        sets = recoded_sets(self.ensemble, self.columns, columns, where)
        if sets is not self.ensemble.category_sets:
            recoded = replace(self, ensemble=replace(self.ensemble, category_sets=sets))
            kept = {j: columns.categories[int(where[j])] for j in self.columns.categories}
            own = replace(self.columns, categories=kept)
            return replace(recoded, columns=own).with_columns(columns)
        if columns.count == self.columns.count and np.array_equal(where, np.arange(len(where))):
            return replace(self, columns=columns)
        feature = self.ensemble.feature
        moved = np.where(feature >= 0, np.r_[where, 0][feature], -1)
        ensemble = replace(
            self.ensemble,
            n_features=columns.count,
            feature=moved.astype(feature_type(columns.count)),
        )
        return replace(
            self,
            columns=columns,
            ensemble=ensemble,
            fill=_moved(self.fill, where, columns.count, np.nan),
            missing_up_to=_moved(self.missing_up_to, where, columns.count, -1.0),
        )

    def plain(self) -> TreesModel:
        """Return the same model with one output, if its link only adds up the outputs."""
        if not isinstance(self.link, GradeSum):
            return self
        trees, steps = self.ensemble, self.link.steps
        ensemble = replace(
            trees,
            tree_weights=trees.tree_weights * steps[trees.tree_outputs],
            tree_outputs=np.zeros_like(trees.tree_outputs),
            base_score=np.array([self.link.grades[0] + float(steps @ trees.base_score)]),
        )
        return replace(self, ensemble=ensemble, link=IDENTITY)

    def without_fill(self) -> TreesModel:
        """Return the same model without fill values: each split gets the direction of its fill."""
        if self.fill is None:
            return self
        trees = self.ensemble
        stand_in = np.where(trees.feature >= 0, np.r_[self.fill, np.nan][trees.feature], np.nan)
        left = np.where(np.isnan(stand_in), trees.missing_left != 0, stand_in <= trees.threshold)
        if trees.category_sets is not None:  # fill values do not replace categories
            left = np.where(trees.category_sets.of_node >= 0, trees.missing_left != 0, left)
        inner = trees.feature >= 0
        ensemble = replace(trees, missing_left=(left & inner).astype(np.uint8))
        return replace(self, ensemble=ensemble, fill=None)

    def followed_by(self, other: TreesModel) -> TreesModel | None:
        """Return the other model with this one as its init model; None if they cannot be merged."""
        if self.link != other.link or self.ensemble.n_outputs != other.ensemble.n_outputs:
            return None
        if not same_values(self.missing_up_to, other.missing_up_to):
            return None
        first, second = self, other
        if not same_values(self.fill, other.fill):
            first, second = self.without_fill(), other.without_fill()
        n_before = first.ensemble.n_trees
        return replace(
            second,
            ensemble=first.ensemble.followed_by(second.ensemble),
            n_init_trees=n_before + second.n_init_trees,
            saw_missing=either(first.saw_missing, second.saw_missing),
        )

    def get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the arrays of the trees, of fill values and of the link, and the scalar fields."""
        trees = {f.name: getattr(self.ensemble, f.name) for f in _tree_fields()}
        if self.ensemble.precise is not None:
            trees["precise"] = self.ensemble.precise
        if self.ensemble.category_sets is not None:
            sets = self.ensemble.category_sets.without_unused()
            trees.update(with_prefix("category_sets", sets.arrays()))
        link, arrays = self.link.get_state()
        arrays = {**arrays, **with_prefix("trees", trees)}
        if self.fill is not None:
            arrays["fill"] = self.fill
        if self.missing_up_to is not None:
            arrays["missing_up_to"] = self.missing_up_to
        values = {
            "link": link,
            _N_INIT_TREES: self.n_init_trees,
            "trees_per_step": self.trees_per_step,
            "averaged": self.averaged,
        }
        if self.saw_missing is not None:
            values["saw_missing"] = self.saw_missing
        return values, arrays

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, columns: Columns) -> TreesModel:
        """Build the model and check the invariants of scoring."""
        trees = without_prefix("trees", arrays)
        ensemble = TreeEnsemble(
            n_features=columns.count,
            precise=trees.get("precise"),
            category_sets=_category_sets(trees),
            **{f.name: trees[f.name] for f in _tree_fields()},
        )
        check_ensemble(ensemble)
        _check_categories(ensemble, columns)
        first, size = values[_N_INIT_TREES], values["trees_per_step"]
        if type(first) is not int or not 0 <= first <= ensemble.n_trees:
            raise ModelError(
                f"{_N_INIT_TREES} is {first!r:.100} in a model of {ensemble.n_trees} trees"
            )
        if type(size) is not int or size < 1 or (ensemble.n_trees - first) % size:
            raise ModelError(f"trees_per_step is {size!r:.100}")
        saw_missing = values.get("saw_missing")
        if saw_missing not in (None, True, False):
            raise ModelError(f"saw_missing is {saw_missing!r:.100}")
        return cls(
            columns=columns,
            ensemble=ensemble,
            fill=per_feature(arrays, "fill", columns.count),
            missing_up_to=per_feature(arrays, "missing_up_to", columns.count),
            link=link_from_state(values["link"], arrays, ensemble.n_outputs),
            n_init_trees=first,
            trees_per_step=size,
            averaged=bool(values["averaged"]),
            saw_missing=saw_missing,
        )


def _tree_fields() -> list[Any]:
    others = ("n_features", "precise", "category_sets")
    return [f for f in fields(TreeEnsemble) if f.name not in others]


def _category_sets(trees: Arrays) -> CategorySets | None:
    arrays = without_prefix("category_sets", trees)
    return CategorySets(**{name: arrays[name] for name in SET_TYPES}) if arrays else None


def _check_categories(ensemble: TreeEnsemble, columns: Columns) -> None:
    """Raise ModelError unless the features with sets of categories are those with dictionaries."""
    used = np.unique(ensemble.feature[ensemble.feature >= 0]).tolist()
    for feature in set(used) & set(columns.categories) - set(ensemble.categorical_features):
        raise ModelError(f"column {feature} has categories, but a split compares it with a number")
    for feature in set(ensemble.categorical_features.tolist()) - set(columns.categories):
        raise ModelError(f"a split asks for categories of column {feature}, which has none")


def same_values(a: Float32s | None, b: Float32s | None) -> bool:
    """Return whether two optional arrays are equal; NaN equals NaN."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b, equal_nan=True)


def either(a: bool | None, b: bool | None) -> bool | None:
    """Return whether one of the two is true; None if that is unknown."""
    return True if a or b else (None if a is None or b is None else False)


def _moved(
    values: Float32s | None, where: npt.NDArray[np.int64], count: int, other: float
) -> Float32s | None:
    if values is None:
        return None
    moved = np.full(count, other, np.float32)
    moved[where] = values
    return moved
