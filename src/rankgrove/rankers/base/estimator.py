"""The base class of rankers: a scikit-learn estimator with queries.

Life of a ranker:

1. Created with parameters only; nothing is checked yet (so that ``clone`` and ``set_params`` work).
2. ``fit`` checks parameters and data and hands them to ``_learn`` as one ``Fit``.
3. ``_learn`` trains and returns the model, and attributes that end with an underscore. The ranker
   changes only after that, so a fit that fails leaves it unchanged.
4. ``predict``, ``rank``, ``score`` and the other methods (see ``fitted``) use ``model_``, which
   knows its columns.
5. ``formats.ranker_state`` converts it to a model file and back; pickling uses the same state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove._counts import counted
from rankgrove.data.core.categories import DEFAULT_CATEGORIES
from rankgrove.data.core.fit_data import FitData
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.scanning.scan import as_scan
from rankgrove.errors import DataError
from rankgrove.models.model import Model
from rankgrove.models.scoring import scores
from rankgrove.rankers.base.declaration import declared, param, parameter_table
from rankgrove.rankers.base.fitted import FittedRanker
from rankgrove.rankers.base.fitting import Fit, FitOptions, FitResult, columns_of, init_model_of
from rankgrove.rankers.base.paper_settings import OWN, PaperSettings, find_settings
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
from rankgrove.rankers.base.sklearn_interface import refuse_search_without_score
from rankgrove.rankers.base.wording import refuse_fit_options, refuse_parameters
from rankgrove.training.category_agreement import agree_on_categories
from rankgrove.training.fit_evaluation import FitEvaluation, make_fit_evaluation
from rankgrove.training.fit_workers import FitWorkers
from rankgrove.training.labels import naming_ranker, naming_rows
from rankgrove.training.missing import fill_values
from rankgrove.training.nothing_learnt import labels_are_equal, warn_of_constant_scores
from rankgrove.training.progress import Callback
from rankgrove.workers.row_shard import RowShard

Self = TypeVar("Self", bound="BaseRanker")


class DerivedColumns(ABC):
    """Columns that are made of those of the data for training, and that the model does not need."""

    @abstractmethod
    def training(self, data: RankingInput) -> RankingInput:
        """Return the training data with these columns."""

    @abstractmethod
    def evaluated(self, data: RankingInput) -> RankingInput:
        """Return data that are scored during training with these columns."""

    @abstractmethod
    def folded(self, model: Model) -> Model:
        """Return what was learnt with these columns as a model of the columns of the data."""


@declared
class BaseRanker(FittedRanker):
    """Base of all rankers.

    Subclasses declare their parameters (see ``declaration``) and define ``_learn``; ``_get_fitted``
    and ``_set_fitted`` convert fitted attributes besides the model for files.
    """

    _constraints: ClassVar[Mapping[str, Constraint]]
    # Whether fit learns in steps (and can stop early), and whether it can start from another model.
    learns_in_steps: ClassVar[bool] = False
    continues_models: ClassVar[bool] = False
    # Whether several of it, trained on samples of the queries or with other seeds, can be averaged.
    can_be_bagged: ClassVar[bool] = True
    # How several workers can fit it together, the preferred way first: "rows" (each holds a shard
    # of the queries), "trees" (each holds all documents and grows a part of the forests' trees).
    shares: ClassVar[tuple[str, ...]] = ()
    # Settings of papers by name, the paper that brought the ranker first (see ``as_in_paper``).
    papers: ClassVar[Mapping[str, PaperSettings]] = {}
    # Whether categorical columns are taken as they are.
    takes_categories: ClassVar[bool] = False

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
        """Refuse unknown parameters, with a suggestion for misspelt and foreign names."""
        if not params.keys() <= cls._constraints.keys():
            refuse_parameters(cls.__name__, params, cls._get_param_names())
        return super().__new__(cls)

    @classmethod
    def as_in_paper(cls: type[Self], paper: str = OWN, **params: Any) -> Self:
        """Return a ranker with the settings of a paper.

        Parameters
        ----------
        paper : ``"own"`` for the paper that brought the ranker, or a name in ``papers``, whose
            values say what each paper sets, what it tunes and what remains different
        params : parameters of your own, which take the place of the paper's
        """
        settings = find_settings(cls.papers, cls.__name__, paper)
        return cls(**{**settings.params, **params})

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        sample_weight: Any = None,
        position: Any = None,
        propensity: Any = None,
        eval_set: Any = None,
        eval_metric: Any = None,
        early_stopping_rounds: int | None = None,
        stopping_rule: str | None = None,
        init_model: BaseRanker | None = None,
        callbacks: Sequence[Callback] | None = None,
        **unknown: NoReturn,
    ) -> Self:
        """Train on documents with labels and queries.

        Ctrl-C ends the training early: the finished steps become the model, and KeyboardInterrupt
        is raised.

        Parameters
        ----------
        X : matrix, data frame, or a Dataset (which brings labels and queries). Data that do not fit
            into memory: a path, a list of paths, a folder, an iterator of batches, or the result of
            ``rankgrove.scan``; the model has the same bits
        y : relevance labels, one per row
        qid : one query id per row, in any order, integers or strings
        group_sizes : documents per query for grouped rows, instead of ``qid``
        sample_weight : weight of each document (repeat a query's weight for its documents)
        position : where each document was shown, from 1, if labels are clicks: boosted rankers with
            a parameter ``position_bias`` correct for it (docs/how-to/clicks.md)
        propensity : probability that each document was examined, for ``position_bias="ips"``
        eval_set : a Dataset, path, scan or tuple (X, y, qid), a list of those, or a dict that names
            them; their columns are matched by name. The training data themselves are evaluated
            without being scored again (rows of weight 0 are left out there; metrics know no other
            weights). Rankers that learn in steps, such as boosting, keep only the steps up to the
            best value of the first metric on the last validation set, also without
            ``early_stopping_rounds`` (the training data, copies of them and a set named ``train``
            do not count); others are measured when they are done.
        eval_metric : a metric or several, by name, object or function; the first one decides
            (``ndcg@10``)
        early_stopping_rounds : stop after this many steps without a better validation metric
        stopping_rule : which step counts as the best one: ``"best"`` (the default), the step with
            the best metric; ``"moving-average"``, with the best mean over the 11 steps around it;
            ``"one-standard-error"``, the first that is not worse than the best by more than the
            standard error of the difference over queries; ``"paired-test"``, a later step replaces
            an earlier one only if it is better by more than that standard error
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
            if str(getattr(callback, "__module__", "")).startswith("lightgbm."):
                raise TypeError(
                    f"callbacks holds {type(callback).__name__} of LightGBM, which works there "
                    "alone; fit(..., early_stopping_rounds=20) stops early, verbose=2 prints steps"
                )
        refuse_search_without_score()
        given = FitData(as_scan(X), y, qid, group_sizes, sample_weight, position, propensity)
        options = FitOptions(
            eval_set, eval_metric, early_stopping_rounds, init_model, callbacks, stopping_rule
        )
        return self._fit(given, options, FitWorkers())

    def _fit(self: Self, given: FitData, options: FitOptions, workers: FitWorkers) -> Self:
        """Fit to the given data, or to this worker's shard of them with the other workers."""
        self.check_params()
        self.check_fit_options(options)
        self.check_clicks(given)
        data, shard = workers.checked_input(given)
        self._check_categories(data)
        self._check_init_model(options.init_model)
        limit = self._category_limit() if data.X.categories else DEFAULT_CATEGORIES
        data = agree_on_categories(data, shard, limit, columns_of(options.init_model))
        self._refuse_unused_parameters(data)
        with naming_rows(data), naming_ranker(type(self).__name__):
            self._check_labels(data)
        equal = labels_are_equal(data.y, shard)
        evaluation = self._evaluation(options, given, data, shard)
        fit = Fit(
            data=data,
            shard=shard,
            fill=self._fill(data, shard),
            init_model=init_model_of(options.init_model, data),
            seed=workers.seed(self.draw_seed()),
            evaluation=evaluation,
            callbacks=options.callbacks or (),
            journal=workers.journal,
        )
        with naming_rows(data), naming_ranker(type(self).__name__):
            learnt = self._learn_derived(fit)
        self._measure(evaluation, learnt)
        self.replace_fitted(learnt)
        if self.learns_in_steps:
            self.best_iteration_, self.best_score_ = evaluation.best_step, evaluation.best_value
            self.stopping_rule_ = None if evaluation.best_step is None else evaluation.rule_name
        self.evals_result_ = evaluation.history
        if not equal:
            warn_of_constant_scores(self.model_, data, shard, self._least_documents)
        if learnt.interrupted:
            raise KeyboardInterrupt
        return self

    def _evaluation(
        self, options: FitOptions, given: FitData, data: RankingInput, shard: RowShard
    ) -> FitEvaluation:
        """Check the evaluation sets and prepare their metrics."""
        return make_fit_evaluation(
            options.eval_set,
            options.eval_metric,
            options.early_stopping_rounds,
            train=data,
            given=given,
            shard=shard,
            n_jobs=self.n_jobs,
            rule=options.stopping_rule,
        )

    def sharing(self) -> tuple[str, ...]:
        """Return which of ``shares`` the parameters allow."""
        return self.shares

    def reads_rows_once(self) -> bool:
        """Return whether a fit needs only the codes of its rows after binning."""
        return True

    def learn_within(self, fit: Fit) -> FitResult:
        """Learn from the data of another ranker's fit, as a part of it; this ranker stays unfitted.

        The seed is that of the fit unless this ranker has a ``random_state`` of its own. Nothing is
        evaluated or resumed, and Ctrl-C ends the whole fit.
        """
        self.check_params()
        self._check_categories(fit.data)
        self._refuse_unused_parameters(fit.data)
        learnt = self._learn_derived(
            Fit(
                data=fit.data,
                shard=fit.shard,
                fill=self._fill(fit.data, fit.shard),
                init_model=None,
                seed=fit.seed if self.random_state is None else self.draw_seed(),
                evaluation=FitEvaluation([], True, None),
                callbacks=(),
            )
        )
        if learnt.interrupted:
            raise KeyboardInterrupt
        return learnt

    def _learn_derived(self, fit: Fit) -> FitResult:
        """Learn, with columns that are derived from those of the data if the ranker wants some."""
        derived = self._derive_columns(fit)
        if derived is None:
            return self._learn(fit)
        data = derived.training(fit.data)
        init_model = None if fit.init_model is None else fit.init_model.with_columns(data.columns)
        given = fit.evaluation.sets
        fit.evaluation.sets = [
            replace(one, data=data if one.is_train else derived.evaluated(one.data))
            for one in given
        ]
        fill = self._fill(data, fit.shard)
        try:
            learnt = self._learn(replace(fit, data=data, fill=fill, init_model=init_model))
        finally:
            fit.evaluation.sets = given
        return replace(learnt, model=derived.folded(learnt.model))

    def _derive_columns(self, fit: Fit) -> DerivedColumns | None:
        """Return the columns that training sees besides those of the data; None: no others."""
        return None

    def check_params(self) -> None:
        """Check all parameters against their constraints."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._constraints)

    @property
    def stops_early(self) -> bool:
        """Whether validation data can end the training."""
        return self.learns_in_steps

    @property
    def _least_documents(self) -> int | None:
        """Return the minimum number of documents of a leaf, if the ranker has such a parameter."""
        return getattr(self, "min_samples_leaf", None)

    def _fill(self, data: RankingInput, shard: RowShard) -> npt.NDArray[np.float32] | None:
        """Return the fill value of each feature; None: missing values stay missing."""
        if self.missing in ("keep", "branch"):
            return None
        fill = np.array(fill_values(data.X, self.missing, shard))
        fill[list(data.X.categories)] = np.nan  # no category stands in for a missing one
        return fill

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

    def _check_categories(self, data: RankingInput) -> None:
        """Refuse categorical columns if this ranker takes numbers alone."""
        if self.takes_categories or not data.X.categories:
            return
        names = [data.columns.all_names[j] for j in sorted(data.X.categories)]
        raise DataError(
            f"{type(self).__name__} takes numbers alone, but {counted(len(names), 'column')} "
            f"{'is' if len(names) == 1 else 'are'} categorical: {', '.join(map(repr, names))}. "
            "Encode categories as numbers (one column for each: pandas.get_dummies, or scikit-"
            f"learn's OneHotEncoder or TargetEncoder), leave them out with ignore={names}, or "
            "choose a ranker of trees, which takes them as they are"
        )

    def check_clicks(self, given: FitData) -> None:
        """Refuse positions and propensities if this ranker has no use for them."""
        for name in ("position", "propensity"):
            if getattr(given, name) is not None:
                raise ValueError(
                    f"{type(self).__name__} has no use for {name}: it does not correct clicks for "
                    "position bias"
                )

    def _check_labels(self, data: RankingInput) -> None:
        """Refuse labels that this ranker cannot learn, before any work."""

    @property
    def bound_to_rows(self) -> str:
        """The parameter that refers to training rows by number, so that none may be left out."""
        return ""

    def _check_fit(self, fit: Fit) -> None:
        """Refuse what ``_learn`` would refuse, before other rankers of the same fit learn."""

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        """Return the parameters that have no effect in this setting, and when they have none."""
        return {}

    def _refuse_unused_parameters(self, data: RankingInput) -> None:
        """Refuse parameters that were set although they have no effect in this setting."""
        unused = self._unused_parameters(data)
        for parameter in parameter_table(type(self)):
            value = getattr(self, parameter.name)
            if parameter.name in unused and not np.array_equal(value, parameter.default):
                raise ValueError(
                    f"parameter {parameter.name} of {type(self).__name__} has no effect "
                    f"{unused[parameter.name]}: leave it at {parameter.default!r}, not {value!r}"
                )

    def replace_fitted(self, learnt: FitResult) -> None:
        """Replace all fitted attributes by the new ones."""
        self.clear_fitted()
        self.model_ = learnt.model
        self.evals_result_ = {}
        self.best_iteration_ = self.best_score_ = self.stopping_rule_ = None
        for name, value in learnt.attributes.items():
            setattr(self, name, value)

    def _measure(self, evaluation: FitEvaluation, learnt: FitResult) -> None:
        """Compute the metrics of the evaluation sets once if the ranker does not learn in steps.

        This runs before the ranker changes: a metric that raises leaves the old model in place.
        """
        if not self.learns_in_steps and not learnt.interrupted:
            evaluation.record(
                {
                    eval_set.name: eval_set.data.groups.grouped(
                        scores(learnt.model, eval_set.data, self.n_jobs)
                    )
                    for eval_set in evaluation.sets
                }
            )

    def check_fit_options(self, options: FitOptions) -> None:
        """Refuse options of fit that have no effect on this ranker."""
        steps, models = self.learns_in_steps, self.continues_models
        for name, allowed, why in (
            ("early_stopping_rounds", self.stops_early, "it does not learn in steps"),
            ("stopping_rule", self.stops_early, "it does not learn in steps"),
            ("callbacks", steps, "it does not learn in steps"),
            ("init_model", models, "it cannot start from another model"),
        ):
            if getattr(options, name) is not None and not allowed:
                raise ValueError(f"{type(self).__name__} has no use for {name}: {why}")

    def _category_limit(self) -> int:
        """Return the most codes that a categorical column has in a fit."""
        return int(getattr(self, "max_categories", DEFAULT_CATEGORIES))

    def _check_init_model(self, init_model: Any) -> None:
        """Warn if ``init_model`` breaks what a parameter promises of the whole model."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags
