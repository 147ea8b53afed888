"""What every ranker is: a scikit-learn estimator that knows about queries.

Life of a ranker:

1. Created with parameters only; nothing is checked yet (so that ``clone`` and ``set_params`` work).
2. ``fit`` checks parameters and data and hands them to ``_learn`` as one ``Fit``.
3. ``_learn`` trains and returns what was learnt: the model, and attributes that end with an
   underscore. Only now does the ranker change, so that a fit that fails leaves it as it was.
4. ``predict``, ``rank``, ``score`` and the rest ask ``model_``, which knows its columns.
5. ``state`` carries it to a model file and back; pickling goes the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from rankgrove.data.columns import Columns
from rankgrove.data.missing import fill_values
from rankgrove.data.queries import QueryGroups
from rankgrove.models.model import Model
from rankgrove.rankers.base.declaration import declared, param
from rankgrove.rankers.base.parameters import (
    AnyOf,
    Choice,
    Constraint,
    Flag,
    Integer,
    Nothing,
    Satisfies,
    check_parameters,
)
from rankgrove.rankers.base.wording import refuse_fit_options, refuse_parameters
from rankgrove.training.inputs import RankingInput, groups_of, ranking_input, row_values
from rankgrove.training.progress import Callback, History
from rankgrove.training.steps import Steps
from rankgrove.training.watch import Given, Watch, make_watch
from rankgrove.trees.scorer import Scorer

Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float64]
Self = TypeVar("Self", bound="BaseRanker")


@dataclass(frozen=True)
class Fit:
    """What one fit is given, checked.

    Attributes
    ----------
    data : the training data
    fill : per feature, the value that stands in for NaN; None: it stays missing
    background : the model whose scores are to be improved, with the columns of the data, or None
    seed : seed of everything random
    watch : the sets whose metrics are recorded
    callbacks : what the caller wants to be called after each step
    """

    data: RankingInput
    fill: npt.NDArray[np.float32] | None
    background: Model | None
    seed: int
    watch: Watch
    callbacks: Sequence[Callback]

    def steps(self, ranker: BaseRanker, n_planned: int) -> Steps:
        """Return the loop of this fit."""
        return Steps(ranker, n_planned, self.watch, self.callbacks)


@dataclass(frozen=True)
class Learnt:
    """What a fit found.

    Attributes
    ----------
    model : scores documents
    attributes : what else the ranker shows, by names that end with an underscore
    interrupted : whether Ctrl-C cut the fit short
    """

    model: Model
    attributes: Mapping[str, Any] = field(default_factory=dict)
    interrupted: bool = False


@declared
class BaseRanker(BaseEstimator):  # type: ignore[misc]
    """Base of all rankers.

    Subclasses declare their parameters (see ``declaration``) and define ``_learn``; what else they
    learn besides the model goes through ``_get_fitted`` and ``_set_fitted`` into files.

    Attributes
    ----------
    model_ : what was learnt: it scores documents (see ``rankgrove.models``)
    evals_result_ : ``{set name: {metric name: [value after each step]}}``
    best_iteration_ : steps kept because of the validation metric, None without validation
    """

    # scikit-learn's metadata routing: qid goes to fit, predict and score without being asked for.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    _constraints: ClassVar[Mapping[str, Constraint]]
    # Whether fit learns in steps (and can stop early), and whether it can start from another model.
    learns_in_steps: ClassVar[bool] = False
    continues_models: ClassVar[bool] = False

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
        """Help with a parameter that is misspelt or goes by another library's name."""
        if not params.keys() <= cls._constraints.keys():
            refuse_parameters(cls.__name__, params, cls._get_param_names())
        return super().__new__(cls)

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group_sizes: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: Any = None,
        early_stopping_rounds: int | None = None,
        init_model: BaseRanker | None = None,
        callbacks: Sequence[Callback] | None = None,
        **unknown: Any,
    ) -> Self:
        """Train on documents with labels and queries.

        Ctrl-C ends the training early: what is finished becomes the model, and KeyboardInterrupt
        goes on.

        Parameters
        ----------
        X : matrix, data frame, or a Dataset (which brings labels and queries)
        y : relevance labels, one per row
        qid : one query id per row, in any order, integers or strings
        group_sizes : documents per query for grouped rows, instead of ``qid``
        sample_weight : weight of each document (repeat a query's weight for its documents)
        eval_set : a Dataset or tuple (X, y, qid), a list of those, or a dict that names them; their
            columns are matched by name. The training data themselves are watched without being
            scored again. A ranker that learns in steps is cut where the first metric was best on
            the first set that is not the training data; others are measured when they are done.
        eval_metric : a metric or several, by name or object; the first one decides (``ndcg@10``)
        early_stopping_rounds : stop after so many steps without a better validation metric
        init_model : a fitted ranker whose scores the new model improves, and part of it
        callbacks : functions called with a FitProgress after each step; true ends the training
        """
        if unknown:
            refuse_fit_options(type(self).__name__, unknown)
        self._refuse_without_effect(early_stopping_rounds, init_model, callbacks)
        check_parameters(type(self).__name__, self.get_params(deep=False), self._constraints)
        data = ranking_input(X, y, qid=qid, group_sizes=group_sizes, sample_weight=sample_weight)
        watch = make_watch(
            eval_set,
            eval_metric,
            early_stopping_rounds,
            train=data,
            given=Given(X, y, qid, group_sizes),
            n_jobs=self.n_jobs,
        )
        fit = Fit(
            data=data,
            fill=None if self.missing == "keep" else fill_values(data.X, self.missing),
            background=_background(init_model, data.columns),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            watch=watch,
            callbacks=callbacks or (),
        )
        learnt = self._learn(fit)
        self._take(learnt)
        self._record(watch, learnt)
        if learnt.interrupted:
            raise KeyboardInterrupt
        return self

    def _learn(self, fit: Fit) -> Learnt:
        """Train; the ranker itself must not change."""
        raise NotImplementedError

    def _take(self, learnt: Learnt) -> None:
        """Become what was learnt; nothing of an older fit stays."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.model_: Model = learnt.model
        self.evals_result_: History = {}
        self.best_iteration_: int | None = None
        for name, value in learnt.attributes.items():
            setattr(self, name, value)

    def _record(self, watch: Watch, learnt: Learnt) -> None:
        """Keep the history of the watched sets; measure now what was not learnt in steps."""
        if self.learns_in_steps:
            self.best_iteration_ = watch.best_step
        elif not learnt.interrupted:
            watch.record(
                lambda watched: watched.data.groups.grouped(
                    learnt.model.scores(watched.data.X, watched.data.groups, self.n_jobs)
                )
            )
        self.evals_result_ = watch.history

    def _refuse_without_effect(self, rounds: Any, init_model: Any, callbacks: Any) -> None:
        """Refuse options of fit that this ranker could only ignore."""
        steps, models = self.learns_in_steps, self.continues_models
        for name, value, allowed, why in (
            ("early_stopping_rounds", rounds, steps, "it does not learn in steps"),
            ("callbacks", callbacks, steps, "it does not learn in steps"),
            ("init_model", init_model, models, "it cannot start from another model"),
        ):
            if value is not None and not allowed:
                raise ValueError(f"{type(self).__name__} has no use for {name}: {why}")

    def predict(
        self, X: Any, qid: Any = None, *, group_sizes: Any = None, n_jobs: int | None = None
    ) -> Floats:
        """Score documents: the higher, the more relevant.

        Most models score a document by its own features, and need no queries; those that look at
        the whole list (``model_.needs_queries``) refuse to guess them. Scores are comparable only
        among documents of the same query.

        Parameters
        ----------
        X : matrix, data frame or Dataset; columns are taken by name where names are known
        qid : one query id per row (a Dataset brings its own), where queries matter
        group_sizes : documents per query, instead of ``qid``
        n_jobs : threads; None: those of the ranker

        Returns
        -------
        float64 array, one score per row of X, in the order of X
        """
        model = self._fitted()
        matrix = model.columns.match(X)
        groups: QueryGroups | None = None
        if qid is not None or group_sizes is not None or model.needs_queries:
            groups = groups_of(X, qid, group_sizes, len(matrix), "predict")
        return model.scores(matrix, groups, self.n_jobs if n_jobs is None else n_jobs)

    def staged_predict(
        self, X: Any, qid: Any = None, *, group_sizes: Any = None
    ) -> Iterator[Floats]:
        """Yield the scores after each step of the fit (trees of a background model included)."""
        model = self._fitted()
        matrix = model.columns.match(X)
        groups: QueryGroups | None = None
        if qid is not None or group_sizes is not None or model.needs_queries:
            groups = groups_of(X, qid, group_sizes, len(matrix), "staged_predict")
        return model.stages(matrix, groups, n_jobs=self.n_jobs)

    def rank(self, X: Any, qid: Any = None, *, group_sizes: Any = None) -> npt.NDArray[np.int64]:
        """Rank documents within their query: 1 is the best; equal scores keep their input order.

        Parameters
        ----------
        X : matrix, data frame or Dataset; columns are taken by name where names are known
        qid : one query id per row (a Dataset brings its own)
        group_sizes : documents per query, instead of ``qid``

        Returns
        -------
        int64 array, one rank per row of X, in the order of X
        """
        model = self._fitted()
        matrix = model.columns.match(X)
        groups = groups_of(X, qid, group_sizes, len(matrix), "rank")
        scores = groups.grouped(model.scores(matrix, groups, self.n_jobs))
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

        model = self._fitted()
        matrix = model.columns.match(X)
        groups = groups_of(X, qid, group_sizes, len(matrix), "score")
        if y is None and hasattr(X, "y"):
            y = X.y
        labels = row_values(y, len(matrix), "y", "score")
        scores = model.scores(matrix, groups, self.n_jobs)
        return as_metric(metric)(labels, scores, groups=groups, n_jobs=self.n_jobs)

    def compile(self) -> Scorer:
        """Return one prepared scorer for serving, with the scores of ``predict``.

        Raises
        ------
        ModelError : the model is not one sum of trees on documents
        """
        return self._fitted().compile()

    def save(self, path: Any) -> None:
        """Write the fitted ranker to a model file; read it back with ``rankgrove.load_model``."""
        from rankgrove.formats.container import save_model

        save_model(self, path)

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf of every document in every tree, as its node number within the tree.

        Returns
        -------
        int32 array of shape (documents, trees)
        """
        model = self._fitted()
        return model.leaves(model.columns.match(X), self.n_jobs)

    def importances(
        self,
        kind: str = "gain",
        X: Any = None,
        y: Any = None,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        metric: Any = "ndcg@10",
        n_repeats: int = 5,
        random_state: Any = 0,
    ) -> Floats:
        """Importance of each feature.

        Parameters
        ----------
        kind : ``"gain"`` (share of the total gain of splits), ``"split"`` (share of the number of
            splits) or ``"permutation"`` (mean loss of the metric when the column is shuffled)
        X, y, qid, group_sizes : data to permute; only for ``"permutation"``
        metric : what a permutation may spoil
        n_repeats : shuffles per feature
        random_state : seed of the shuffles
        """
        model = self._fitted()
        if kind == "permutation":
            from rankgrove.explain.permutation import permutation_importances

            if X is None:
                raise ValueError(
                    "permutation importances need data: pass X, y and qid, or a Dataset"
                )
            what = "permutation importances"
            data = ranking_input(
                X, y, qid=qid, group_sizes=group_sizes, columns=model.columns, what=what
            )
            return permutation_importances(
                model, data, metric, n_repeats, random_state, self.n_jobs
            )
        if kind not in ("gain", "split"):
            raise ValueError(f"kind must be 'gain', 'split' or 'permutation', not {kind!r}")
        total = model.importances(kind)
        return total / total.sum() if total.sum() > 0 else total

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in the total gain of all splits (all 0 if nothing was split)."""
        return self.importances("gain")

    @property
    def n_features_in_(self) -> int:
        """Number of features that the ranker was trained with."""
        return self._columns_in().count

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Names of the features that the ranker was trained with, if they had names."""
        names = self._columns_in().names
        if names is None:
            raise AttributeError("the training data had no feature names")
        return np.asarray(names, dtype=object)

    def _columns_in(self) -> Columns:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self.model_.columns

    @property
    def ranker_name(self) -> str:
        """The registered name of the ranker (its class name if it is not registered)."""
        from rankgrove.rankers.base.registry import name_of

        return name_of(type(self)) or type(self).__name__

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def _fitted(self) -> Model:
        """Return the model, or say that there is none yet."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.model_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.non_deterministic = self.random_state is None
        return tags

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        """What was learnt besides the model, for JSON and as arrays; subclasses extend both."""
        return {"evals_result": self.evals_result_, "best_iteration": self.best_iteration_}, {}

    def _set_fitted(self, values: Mapping[str, Any], arrays: Arrays) -> None:
        """Take back what ``_get_fitted`` gave; nothing in it is trusted."""
        from rankgrove.rankers.base.state import checked_history, checked_step

        self.evals_result_ = checked_history(values.get("evals_result", {}))
        self.best_iteration_ = checked_step(values.get("best_iteration"))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle through the model file's container, with the parameters as they are."""
        if not self.__sklearn_is_fitted__():
            return dict(super().__getstate__())
        from rankgrove.formats.container import to_bytes

        return {"params": self.get_params(deep=False), "model": to_bytes(self, named=False)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model" not in state:
            super().__setstate__(state)
            return
        from rankgrove.formats.container import read_container
        from rankgrove.rankers.base.state import set_learnt

        self.__dict__.update(state["params"])
        set_learnt(self, *read_container(state["model"], "pickled ranker"))


def _background(init_model: Any, columns: Columns) -> Model | None:
    """Return the model of ``init_model`` with the columns of the training data."""
    from rankgrove.errors import DataError, ModelError

    if init_model is None:
        return None
    if not isinstance(init_model, BaseRanker):
        raise ModelError(
            f"init_model must be a fitted ranker of rankgrove, not {type(init_model).__name__}"
        )
    try:
        return init_model._fitted().with_columns(columns)
    except DataError as error:
        raise ModelError(f"init_model does not fit the data: {error}") from error
