"""The base class of models: scoring, columns, conversion to arrays and back.

Life of a model:

1. An estimator's ``fit`` makes it (or an importer, or a sum of models). It never changes again.
2. ``scores`` and ``stages`` score a matrix whose columns are the model's own; ``columns.match``
   makes such a matrix from what a caller hands over.
3. ``get_state`` and ``from_state`` carry it to a model file and back.

A kind of model registers itself by ``@kind("name")``; the name stands in model files. What a kind
cannot do (compile a pair model, say) it refuses by name.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove._html import html_table
from rankgrove.data.core.categories import Categories, CategoriesByColumn
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.errors import DataError, ModelError

if TYPE_CHECKING:
    from rankgrove.trees.scorer import Scorer

Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float64]
Matrix: TypeAlias = FeatureMatrix | npt.NDArray[Any]
Self = TypeVar("Self", bound="Model")

_KINDS: dict[str, type[Model]] = {}
_BUILT_IN = ("trees", "pairs", "linear", "random", "sums", "ranks", "calibrated")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Model(ABC):
    """Base of all models.

    Attributes
    ----------
    columns : the columns of the training data
    absent : how features that were absent from text files were read in training (``"zero"``,
        ``"missing"``), None if the data did not come from text
    """

    kind: ClassVar[str]

    columns: Columns
    absent: str | None = field(default=None)

    @property
    def needs_queries(self) -> bool:
        """Whether a document's score depends on the other documents of its query."""
        return False

    @property
    def constant(self) -> bool:
        """Whether all documents get the same score, whatever their features."""
        return False

    @property
    def n_steps(self) -> int:
        """Number of steps in which the model was built and can be scored; 0 if it has none."""
        return 0

    @property
    def size(self) -> str:
        """The size of the model as text."""
        return f"{self.n_steps:,} steps"

    def described(self) -> list[tuple[str, str]]:
        """Return a description of the model, as names and texts."""
        names = self.columns.all_names
        return [
            ("kind of model", self.kind),
            ("size", self.size),
            ("features", f"{len(names):,}: {', '.join(names[:8])}{', ...' * (len(names) > 8)}"),
        ]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.size}, {len(self.columns.all_names):,} features>"

    def _repr_html_(self) -> str:
        """Return kind, size and features, as a notebook shows them."""
        return html_table("Model", ("", ""), self.described())

    @abstractmethod
    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Score each row of a matrix with the model's columns; ``groups`` where queries matter."""

    @property
    def tells_probabilities(self) -> bool:
        """Whether ``probability_of`` has an answer."""
        return False

    def probability_of(self, scores: Floats) -> Floats:
        """Return the probability to be relevant of documents with these scores."""
        raise self.refusal(
            "tell probabilities",
            "it is not calibrated; rankgrove.Calibrated (rankgrove train calibrated on the command "
            "line) makes one that is",
        )

    def without_head(self) -> Model:
        """Return what gives the scores: the model itself, unless it wraps one."""
        return self

    def uncertain(self, X: Matrix) -> int:
        """Count the values of a Dataset whose rounding to float32 may have changed scores."""
        return 0

    def work(self, n_rows: int, groups: QueryGroups | None = None) -> int:
        """Return the number of rows that ``scores`` evaluates: documents, or pairs of them."""
        return n_rows

    def stages(
        self,
        X: Matrix,
        groups: QueryGroups | None = None,
        *,
        steps: Sequence[int] | None = None,
        n_jobs: int | None = None,
    ) -> Iterator[Floats]:
        """Yield the scores after each of ``steps`` (ascending, from 1; None: after every one)."""
        raise self.refusal("be scored step by step", "it was not built in steps")

    def scores_after(
        self,
        n_steps: int | None,
        X: Matrix,
        groups: QueryGroups | None = None,
        n_jobs: int | None = None,
    ) -> Floats:
        """Score each row by the first steps of the fit; None: by all of them."""
        if n_steps is None:
            return self.scores(X, groups, n_jobs)
        if self.n_steps == 0:
            raise self.refusal(f"be scored with n_steps={n_steps!r}", "it was not built in steps")
        if not isinstance(n_steps, int | np.integer) or not 1 <= n_steps <= self.n_steps:
            raise ValueError(
                f"n_steps must be a whole number from 1 to {self.n_steps}, the steps of this "
                f"model, not {n_steps!r}"
            )
        return next(iter(self.stages(X, groups, steps=[int(n_steps)], n_jobs=n_jobs)))

    def compile(self) -> Scorer:
        """Return one prepared scorer for serving."""
        raise self.refusal("be compiled", "only trees on documents become one scorer")

    def leaves(self, X: Matrix, n_jobs: int | None = None) -> npt.NDArray[np.int32]:
        """Return the leaf of every row in every tree, shape (rows, trees)."""
        raise self.refusal("tell the leaves of documents", "it has no trees on documents")

    def importances(self, kind: str) -> Floats:
        """Return the unscaled importance of each feature: ``"gain"`` or ``"split"``."""
        raise self.refusal(f"tell importances by {kind}", "it has no splits; use permutation")

    @abstractmethod
    def with_columns(self: Self, columns: Columns) -> Self:
        """Return the same model for data with these columns (reordered, or with more of them).

        Columns are found by name where names are known on both sides, else by position.
        """

    @abstractmethod
    def get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state for a model file, without columns: values for JSON, and arrays."""

    @classmethod
    @abstractmethod
    def from_state(
        cls: type[Self], values: Mapping[str, Any], arrays: Arrays, columns: Columns
    ) -> Self:
        """Build a model from its ``get_state``; ModelError if the state is invalid."""

    def refusal(self, what: str, why: str) -> ModelError:
        """Return the error for an operation that this kind of model does not support."""
        return ModelError(f"a model of the kind {self.kind!r} cannot {what}: {why}")

    def lists(self, groups: QueryGroups | None) -> QueryGroups:
        """Return the queries; raise an error if there are none and the model needs them."""
        if groups is None:
            raise DataError(
                "this model scores a document against the others of its query: pass qid (one query "
                "id per row) or group_sizes, or a Dataset"
            )
        return groups


Kind = TypeVar("Kind", bound=type[Model])


def kind(name: str) -> Callable[[Kind], Kind]:
    """Register a kind of model under the name that model files use."""

    def register(cls: Kind) -> Kind:
        if _KINDS.setdefault(name, cls).__qualname__ != cls.__qualname__:
            raise ValueError(f"there is another kind of model with the name {name!r}")
        cls.kind = name
        _KINDS[name] = cls
        return cls

    return register


def pack_model(model: Model) -> tuple[dict[str, Any], Arrays]:
    """Return a model with its kind and columns, as a JSON-able dict and arrays."""
    values, arrays = model.get_state()
    names = model.columns.names
    head = {
        "kind": model.kind,
        "n_features": model.columns.count,
        "feature_names": None if names is None else list(names),
        "absent": model.absent,
    }
    if model.columns.categories:
        head["categories"] = {
            str(column): found.get_state() for column, found in model.columns.categories.items()
        }
    return {**values, **head}, arrays


def unpack_model(values: Mapping[str, Any], arrays: Arrays) -> Model:
    """Build a model from its ``pack_model`` state; all of it is validated."""
    name, n_features, names = values["kind"], values["n_features"], values["feature_names"]
    for module in _BUILT_IN:
        importlib.import_module(f"rankgrove.models.{module}")
    if not isinstance(name, str) or name not in _KINDS:
        raise ModelError(
            f"unknown kind of model {name!r:.100}: this rankgrove knows {', '.join(_KINDS)}"
        )
    if type(n_features) is not int or not 0 <= n_features < 2**31:
        raise ModelError(f"n_features is {n_features!r:.100}")
    if names is not None and (
        not isinstance(names, list)
        or len(names) != n_features
        or not all(isinstance(text, str) for text in names)
    ):
        raise ModelError(f"feature_names does not name {n_features} features")
    absent = values["absent"]
    if absent not in (None, "zero", "missing"):
        raise ModelError(f"absent is {absent!r:.100}")
    columns = Columns(
        None if names is None else tuple(names),
        n_features,
        categories=_categories(values.get("categories", {}), n_features),
    )
    model = _KINDS[name].from_state(values, arrays, columns)
    object.__setattr__(model, "absent", absent)
    return model


def _categories(state: Any, n_features: int) -> CategoriesByColumn:
    if not isinstance(state, dict):
        raise ModelError(f"categories are {state!r:.100}")
    known = {str(column) for column in range(n_features)} if state else set()
    for column in state:
        if column not in known:
            raise ModelError(f"categories of column {column!r:.100}, of {n_features} columns")
    return {int(column): Categories.from_state(state[column]) for column in sorted(state, key=int)}


def per_feature(
    arrays: Arrays, name: str, n_features: int, dtype: type[np.generic] = np.float32
) -> npt.NDArray[Any] | None:
    """Return a checked array of one value per feature from a model file, None if it is absent."""
    array = arrays.get(name)
    if array is not None and (array.shape != (n_features,) or array.dtype != dtype):
        raise ModelError(
            f"{name} does not have a {np.dtype(dtype).name} value for {n_features} features"
        )
    return array


def with_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays under names that begin with ``prefix/``."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names begin with ``prefix/``, by the rest of their names."""
    head = f"{prefix}/"
    return {n.removeprefix(head): array for n, array in arrays.items() if n.startswith(head)}
