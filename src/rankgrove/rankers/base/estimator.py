"""The base class of rankers: a scikit-learn estimator that knows about queries.

Life of a ranker:

1. Created with parameters only; nothing is checked yet (so that ``clone`` and ``set_params`` work).
2. ``fit`` checks parameters and data and hands them to ``_learn`` as one ``Fit``.
3. ``_learn`` trains and returns what was learnt: the model, and attributes that end with an
   underscore. Only now does the ranker change, so that a fit that fails leaves it as it was.
4. ``predict``, ``rank``, ``score`` and the rest (see ``fitted``) ask ``model_``, which knows its
   columns.
5. ``state`` carries it to a model file and back; pickling goes the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.fit_data import FitData
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.scanning.scan import as_scan
from rankgrove.models.scoring import scores
from rankgrove.rankers.base.declaration import declared, param, parameter_table
from rankgrove.rankers.base.fitted import FittedRanker
from rankgrove.rankers.base.fitting import Fit, FitOptions, FitResult, background_of
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
from rankgrove.rankers.base.sklearn_interface import refuse_search_without_routing
from rankgrove.rankers.base.wording import refuse_fit_options, refuse_parameters
from rankgrove.training.fit_workers import FitWorkers
from rankgrove.training.labels import naming_rows
from rankgrove.training.missing import fill_values
from rankgrove.training.nothing_learnt import labels_are_equal, warn_of_constant_scores
from rankgrove.training.progress import Callback
from rankgrove.training.watch import Watch, make_watch
from rankgrove.workers.row_shard import RowShard

Self = TypeVar("Self", bound="BaseRanker")


@declared
class BaseRanker(FittedRanker):
    """Base of all rankers.

    Subclasses declare their parameters (see ``declaration``) and define ``_learn``; what else they
    learn besides the model goes through ``_get_fitted`` and ``_set_fitted`` into files.
    """

    _constraints: ClassVar[Mapping[str, Constraint]]
    # Whether fit learns in steps (and can stop early), and whether it can start from another model.
    learns_in_steps: ClassVar[bool] = False
    continues_models: ClassVar[bool] = False
    # How several workers can fit it together, the preferred way first: "rows" (each holds a shard
    # of the queries), "trees" (each holds all documents and grows a part of the forests' trees).
    shares: ClassVar[tuple[str, ...]] = ()

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
        "seed of everything random; None: another one each time. Boosting without any sampling "
        "depends on it, too: it rounds gradients at random",
    )
    verbose: int = param(
        0,
        AnyOf(Integer(0), Flag()),
        "0: quiet; 1 or True: a progress bar on a terminal; 2: also a line per step",
    )

    def __new__(cls: type[Self], *_: Any, **params: Any) -> Self:
        """Help with a parameter that is misspelt or goes by another library's name."""
        if not params.keys() <= cls._constraints.keys():
            refuse_parameters(cls.__name__, params, cls._get_param_names())
        return super().__new__(cls)

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_metric: Any = None,
        early_stopping_rounds: int | None = None,
        init_model: BaseRanker | None = None,
        callbacks: Sequence[Callback] | None = None,
        **unknown: NoReturn,
    ) -> Self:
        """Train on documents with labels and queries.

        Ctrl-C ends the training early: what is finished becomes the model, and KeyboardInterrupt
        goes on.

        Parameters
        ----------
        X : matrix, data frame, or a Dataset (which brings labels and queries). Data that do not fit
            into memory: a path, a list of paths, a folder, an iterator of batches, or the result of
            ``rankgrove.scan``; the model has the same bits
        y : relevance labels, one per row
        qid : one query id per row, in any order, integers or strings
        group_sizes : documents per query for grouped rows, instead of ``qid``
        sample_weight : weight of each document (repeat a query's weight for its documents)
        eval_set : a Dataset, path, scan or tuple (X, y, qid), a list of those, or a dict that names
            them; their columns are matched by name. The training data themselves are watched
            without being scored again (rows of weight 0 are left out there; metrics know no other
            weights). Rankers that learn in steps, such as boosting, keep only the steps up to the
            best value of the first metric on the last validation set, also without
            ``early_stopping_rounds`` (the training data, copies of them and a set named ``train``
            do not count); others are measured when they are done.
        eval_metric : a metric or several, by name, object or function; the first one decides
            (``ndcg@10``)
        early_stopping_rounds : stop after so many steps without a better validation metric
        init_model : a fitted ranker to start from; the result contains its model
        callbacks : functions called with a FitProgress after each step; true ends the training
        """
        if unknown:
            refuse_fit_options(type(self).__name__, unknown, self._get_param_names())
        if callable(callbacks):
            raise TypeError("callbacks must be a list of functions, not one function")
        for callback in callbacks or ():
            if not callable(callback):
                raise TypeError(f"callbacks holds {callback!r}, which is not a function")
        refuse_search_without_routing()
        given = FitData(as_scan(X), y, qid, group_sizes, sample_weight)
        options = FitOptions(eval_set, eval_metric, early_stopping_rounds, init_model, callbacks)
        return self._fit(given, options, FitWorkers())

    def _fit(self: Self, given: FitData, options: FitOptions, workers: FitWorkers) -> Self:
        """Fit to the given data, or to this worker's shard of them with the other workers."""
        self.check_fit_options(options)
        self.check_params()
        data, shard = workers.checked_input(given)
        self._refuse_unused_parameters(data)
        with naming_rows(data):
            self._check_labels(data)
        equal = labels_are_equal(data.y, shard)
        watch = make_watch(
            options.eval_set,
            options.eval_metric,
            options.early_stopping_rounds,
            train=data,
            given=given,
            shard=shard,
            n_jobs=self.n_jobs,
        )
        fit = Fit(
            data=data,
            shard=shard,
            fill=self._fill(data, shard),
            background=background_of(options.init_model, data),
            seed=workers.seed(self.draw_seed()),
            watch=watch,
            callbacks=options.callbacks or (),
            journal=workers.journal,
        )
        with naming_rows(data):
            learnt = self._learn(fit)
        self._measure(watch, learnt)
        self.replace_fitted(learnt)
        if self.learns_in_steps:
            self.best_iteration_, self.best_score_ = watch.best_step, watch.best_value
        self.evals_result_ = watch.history
        if not equal:
            warn_of_constant_scores(self.model_, data, shard, self._least_documents)
        if learnt.interrupted:
            raise KeyboardInterrupt
        return self

    def learn_within(self, fit: Fit) -> FitResult:
        """Learn from the data of another ranker's fit, as a part of it; this ranker stays unfitted.

        The seed is that of the fit unless this ranker has a ``random_state`` of its own. Nothing is
        watched or resumed, and Ctrl-C ends the whole fit.
        """
        self.check_params()
        self._refuse_unused_parameters(fit.data)
        learnt = self._learn(
            Fit(
                data=fit.data,
                shard=fit.shard,
                fill=self._fill(fit.data, fit.shard),
                background=None,
                seed=fit.seed if self.random_state is None else self.draw_seed(),
                watch=Watch([], True, None),
                callbacks=(),
            )
        )
        if learnt.interrupted:
            raise KeyboardInterrupt
        return learnt

    def check_params(self) -> None:
        """Check all parameters against their constraints."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._constraints)

    @property
    def _least_documents(self) -> int | None:
        """Fewest documents of a leaf, if the ranker has such a parameter."""
        return getattr(self, "min_samples_leaf", None)

    def _fill(self, data: RankingInput, shard: RowShard) -> npt.NDArray[np.float32] | None:
        """Return the fill value of each feature; None: missing values stay missing."""
        return None if self.missing == "keep" else fill_values(data.X, self.missing, shard)

    def draw_seed(self) -> int:
        """Draw the seed of a fit from ``random_state``."""
        state = self.random_state
        if state is None:
            return int(np.random.randint(2**31 - 1))  # noqa: NPY002 - np.random.seed decides
        if not isinstance(state, np.random.RandomState):
            state = np.random.RandomState(state)
        return int(state.randint(2**31 - 1))

    def planned_trees(self) -> tuple[int, int]:
        """Return how many trees of forests a fit grows, and how many steps it boosts after them."""
        return 0, int(getattr(self, "n_estimators", 0))

    def _learn(self, fit: Fit) -> FitResult:
        """Train; the ranker itself must not change."""
        raise NotImplementedError

    def _check_labels(self, data: RankingInput) -> None:
        """Refuse labels that this ranker cannot learn, before any work."""

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        """Return the parameters that have no effect in this setting, and when they have none."""
        return {}

    def _refuse_unused_parameters(self, data: RankingInput) -> None:
        """Refuse parameters that were set although they have no effect in this setting."""
        idle = self._unused_parameters(data)
        for parameter in parameter_table(type(self)):
            value = getattr(self, parameter.name)
            if parameter.name in idle and not np.array_equal(value, parameter.default):
                raise ValueError(
                    f"parameter {parameter.name} of {type(self).__name__} has no effect "
                    f"{idle[parameter.name]}: leave it at {parameter.default!r}, not {value!r}"
                )

    def replace_fitted(self, learnt: FitResult) -> None:
        """Replace all fitted attributes by the new ones."""
        self.clear_fitted()
        self.model_ = learnt.model
        self.evals_result_ = {}
        self.best_iteration_ = self.best_score_ = None
        for name, value in learnt.attributes.items():
            setattr(self, name, value)

    def _measure(self, watch: Watch, learnt: FitResult) -> None:
        """Evaluate the watched sets once if the ranker does not learn in steps.

        This runs before the ranker changes: a metric that raises leaves the old model in place.
        """
        if not self.learns_in_steps and not learnt.interrupted:
            watch.record(
                {
                    watched.name: watched.data.groups.grouped(
                        scores(learnt.model, watched.data, self.n_jobs)
                    )
                    for watched in watch.sets
                }
            )

    def check_fit_options(self, options: FitOptions) -> None:
        """Refuse options of fit that this ranker could only ignore."""
        steps, models = self.learns_in_steps, self.continues_models
        for name, allowed, why in (
            ("early_stopping_rounds", steps, "it does not learn in steps"),
            ("callbacks", steps, "it does not learn in steps"),
            ("init_model", models, "it cannot start from another model"),
        ):
            if getattr(options, name) is not None and not allowed:
                raise ValueError(f"{type(self).__name__} has no use for {name}: {why}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags
