"""What every ranker is: a scikit-learn estimator that knows about queries.

Life of a ranker:

1. Created with parameters only; nothing is checked yet (so that ``clone`` and ``set_params`` work).
2. ``fit`` calls ``_start_fit``, which checks parameters against the declared ranges and the
   data, and records the columns and the fill of missing values.
3. ``fit`` trains and sets the fitted attributes (they end with an underscore).
4. ``predict``, ``rank`` and ``score`` check the columns and call ``_scores``.
5. ``_get_state`` and ``_from_state`` carry it to a model file and back; pickling goes the same way.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from rankgrove.data.features import check_columns, feature_matrix, is_dataset
from rankgrove.data.queries import QueryGroups
from rankgrove.errors import ModelError
from rankgrove.rankers.declaration import param, ranker
from rankgrove.rankers.inputs import RankingInput, query_groups, ranking_input, row_values
from rankgrove.rankers.parameters import (
    AnyOf,
    Choice,
    Constraint,
    Flag,
    Integer,
    Nothing,
    Satisfies,
    check_parameters,
)
from rankgrove.rankers.registry import CLASS_NAMES

Arrays = dict[str, npt.NDArray[Any]]
Self = TypeVar("Self", bound="BaseRanker")


@ranker
class BaseRanker(BaseEstimator):  # type: ignore[misc]
    """Base of all rankers.

    Subclasses declare their parameters (see ``declaration``), define ``fit`` and ``_scores``, and
    add what they learn to ``_get_fitted`` and ``_set_fitted``.
    """

    # scikit-learn's metadata routing: qid goes to fit and score without being asked for.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    _constraints: ClassVar[Mapping[str, Constraint]]
    # Whether a document's score depends on the other documents of its query.
    needs_queries: ClassVar[bool] = False

    missing: str = param(
        "keep",
        Choice("keep", "zero", "mean", "median", "inf"),
        "what stands in for a missing value (NaN): nothing (each split learns the side to which "
        "missing values go), 0, the mean or median of the training data, or +inf; it is part of "
        "the model and applied when predicting",
    )
    n_jobs: int | None = param(
        None,
        AnyOf(
            Nothing(),
            Satisfies(lambda n: Integer().accepts(n) and n != 0, "a whole number but 0", int),
        ),
        "threads; None or -1: all; the model does not depend on it",
    )
    random_state: Any = param(
        None,
        AnyOf(
            Nothing(),
            Integer(0, 2**32 - 1),
            Satisfies(lambda r: isinstance(r, np.random.RandomState), "a numpy RandomState"),
        ),
        "seed of everything random; None: another one each time",
    )
    verbose: int = param(
        0,
        AnyOf(Integer(0), Flag()),
        "0: quiet; 1 or True: a progress bar on a terminal; 2: also a line per step",
    )

    def __new__(cls, *_: Any, **params: Any) -> Any:
        """Help with a parameter that is misspelt."""
        if not params.keys() <= cls._constraints.keys():
            known = cls._get_param_names()
            for name in params:
                near = difflib.get_close_matches(name, known, n=1)
                if name not in known and near:
                    raise TypeError(
                        f"{cls.__name__} has no parameter {name!r}: did you mean {near[0]!r}?"
                    )
        return super().__new__(cls)

    def _scores(self, X: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Score a checked matrix; one number per row."""
        raise NotImplementedError

    def _list_scores(self, X: npt.NDArray[Any], groups: QueryGroups) -> npt.NDArray[np.float64]:
        """Score a checked matrix of known queries; most rankers look at single documents only."""
        return self._scores(X)

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Score documents: the higher, the more relevant.

        No query ids are needed, because a document is scored by its own features. Scores are
        comparable only among documents of the same query.

        Parameters
        ----------
        X : matrix, data frame or Dataset with the columns of the training data

        Returns
        -------
        float64 array, one score per row of X, in the order of X
        """
        return self._scores(self._prediction_matrix(X))

    def rank(self, X: Any, qid: Any = None, *, group_sizes: Any = None) -> npt.NDArray[np.int64]:
        """Rank documents within their query: 1 is the best; equal scores keep their input order.

        Parameters
        ----------
        X : matrix, data frame or Dataset with the columns of the training data
        qid : one query id per row (a Dataset brings its own)
        group_sizes : documents per query, instead of ``qid``

        Returns
        -------
        int64 array, one rank per row of X, in the order of X
        """
        matrix = self._prediction_matrix(X)
        groups: QueryGroups
        if is_dataset(X) and qid is None and group_sizes is None:
            groups = X.groups
        else:
            groups = query_groups(qid, group_sizes, len(matrix), "rank")
        scores = groups.grouped(self._list_scores(matrix, groups))
        query = np.repeat(np.arange(groups.n_queries), groups.sizes)
        best_first = np.lexsort((-scores, query))
        ranks = np.empty(len(scores), np.int64)
        ranks[best_first] = (
            np.arange(len(scores)) - np.repeat(groups.offsets[:-1], groups.sizes) + 1
        )
        return groups.restored(ranks)

    def score(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        metric: Any = "ndcg@10",
    ) -> float:
        """Mean NDCG@10 over queries (or another metric); refuses to guess the queries.

        Inside scikit-learn's model selection, ``qid`` arrives through metadata routing:
        ``sklearn.set_config(enable_metadata_routing=True)``.
        """
        from rankgrove.metrics.metric import metric as as_metric

        matrix = self._prediction_matrix(X)
        if is_dataset(X) and y is None and qid is None and group_sizes is None:
            groups, labels = X.groups, X.y
        else:
            groups = query_groups(qid, group_sizes, len(matrix), "score")
            labels = y
        labels = row_values(labels, len(matrix), "y")
        measure = as_metric(metric)
        return measure(labels, self._list_scores(matrix, groups), groups=groups, n_jobs=self.n_jobs)

    def save(self, path: Any) -> None:
        """Write the fitted ranker to a model file; read it back with ``rankgrove.load_model``."""
        from rankgrove.formats.container import save_model

        save_model(self, path)

    @property
    def ranker_name(self) -> str:
        """The registered name of the ranker (its class name if it is not registered)."""
        name = type(self).__name__
        return CLASS_NAMES.get(name, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def _same_fitted(self: Self) -> Self:
        """Return a shallow copy that keeps what was learnt while this ranker is fitted anew."""
        twin = type(self)(**self.get_params(deep=False))
        twin.__dict__.update(self.__dict__)
        return twin

    def _start_fit(
        self, X: Any, y: Any, qid: Any, group_sizes: Any, sample_weight: Any = None
    ) -> RankingInput:
        """Check parameters and data; record the columns and the fill of missing values."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._constraints)
        data = ranking_input(X, y, qid=qid, group_sizes=group_sizes, sample_weight=sample_weight)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # a fit that fails must not leave half of an older model
        self.n_features_in_ = data.X.shape[1]
        if data.feature_names is not None:
            self.feature_names_in_ = np.asarray(data.feature_names, dtype=object)
        self.fill_: npt.NDArray[np.float32] | None = None
        if self.missing != "keep":
            from rankgrove.data.missing import fill_values

            self.fill_ = fill_values(data.X, self.missing)
        return data

    def _seed(self) -> int:
        """Draw the seed of this fit from ``random_state``."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _prediction_matrix(self, X: Any) -> npt.NDArray[Any]:
        self._check_fitted()
        matrix, names = feature_matrix(X)
        expected = getattr(self, "feature_names_in_", None)
        check_columns(matrix.shape[1], names, self.n_features_in_, expected)
        return matrix

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        """What was learnt: values for JSON, and arrays. Subclasses extend both."""
        names = getattr(self, "feature_names_in_", None)
        values = {
            "n_features": self.n_features_in_,
            "feature_names": None if names is None else list(names),
        }
        return values, {} if self.fill_ is None else {"fill": self.fill_}

    def _set_fitted(self, values: dict[str, Any], arrays: Arrays) -> None:
        """Take back what ``_get_fitted`` gave."""
        n_features, names = values["n_features"], values["feature_names"]
        if type(n_features) is not int or not 0 <= n_features < 2**31:
            raise ModelError(f"n_features is {n_features!r:.100}")
        self.n_features_in_ = n_features
        if names is not None:
            if len(names) != n_features or not all(isinstance(name, str) for name in names):
                raise ModelError(f"feature_names does not name {n_features} features")
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.fill_ = arrays.get("fill")
        if self.fill_ is not None and (
            self.fill_.shape != (n_features,) or self.fill_.dtype != np.float32
        ):
            raise ModelError(f"fill does not have a float32 value for {n_features} features")

    def _get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Parameters and learnt values for a model file: a JSON-able dict, and arrays."""
        self._check_fitted()
        values, arrays = self._get_fitted()
        params = {k: _jsonable(v) for k, v in self.get_params(deep=False).items()}
        return {"ranker": self.ranker_name, "params": params, "fitted": values}, arrays

    @classmethod
    def _from_state(cls: type[Self], state: Mapping[str, Any], arrays: Arrays) -> Self:
        """Build the ranker that ``_get_state`` described."""
        known = cls._get_param_names()
        loaded = cls(
            **{
                name: value
                for name, value in state["params"].items()
                if name in known and not _is_description(value)
            }
        )
        check_parameters(cls.__name__, loaded.get_params(deep=False), cls._constraints)
        loaded._set_fitted(state["fitted"], arrays)
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        """Pickle through the model file's container, with the parameters as they are."""
        if not self.__sklearn_is_fitted__():
            return dict(super().__getstate__())
        from rankgrove.formats.container import to_bytes

        return {"params": self.get_params(deep=False), "model": to_bytes(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model" not in state:
            super().__setstate__(state)
            return
        from rankgrove.formats.container import read_container

        self.__dict__.update(state["params"])
        header, arrays = read_container(state["model"], "pickled ranker")
        self._set_fitted(header["fitted"], arrays)


def _jsonable(value: Any) -> Any:
    """A parameter as JSON; what JSON cannot hold (a user's function) is only described."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return {"description": repr(value)}


def _is_description(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"description"}
