"""Boosted trees: the parameters of the loop, and a fit that is the same for every objective."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.boosting.dropout import TreeDropout
from rankgrove.boosting.loop import BinnedOutputs, Boosting
from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.objectives.hard_negatives import HardNegatives, SelectedRows
from rankgrove.boosting.sampling import TreeSampler
from rankgrove.boosting.start import Start
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import DataWarning
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.base.common_parameters import MISSING_IN_TREES, MISSING_IN_TREES_MEANING
from rankgrove.rankers.base.declaration import declared, param
from rankgrove.rankers.base.feature_constraints import (
    DIRECTIONS,
    GROUPS,
    Directions,
    Groups,
    direction_per_feature,
    groups_by_number,
)
from rankgrove.rankers.base.fit_key import fit_key
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.parameters import (
    AnyOf,
    Choice,
    Integer,
    Nothing,
    Real,
    Satisfies,
    Span,
)
from rankgrove.rankers.base.tree_ranker import TreeRanker
from rankgrove.rankers.base.tree_sampling import (
    SAMPLINGS,
    make_sampler,
    refuse_sampling,
    unused_by_sampling,
)
from rankgrove.training.step_loop import StepLoop
from rankgrove.trees.bin_cache import cached_codes
from rankgrove.trees.binning import BinnedMatrix, Bins, saw_missing
from rankgrove.trees.category_rules import CategoryRules
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.growing import SplitCriterion, TreeGrower
from rankgrove.trees.shared_binning import shared_bins
from rankgrove.workers.row_shard import RowShard

_CATEGORY_PARAMETERS = (
    "category_smoothing",
    "category_l2",
    "max_split_categories",
    "max_onehot_categories",
    "min_samples_category",
    "category_penalty",
)

Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", int, float)
_GROWTH_ELSEWHERE = {
    "depthwise": "levelwise",
    "depth-wise": "levelwise",
    "level-wise": "levelwise",
    "lossguide": "leafwise",
    "leaf-wise": "leafwise",
    "symmetrictree": "oblivious",
    "symmetric": "oblivious",
}
_DEEPEST_OBLIVIOUS = 12
_MANY_ROWS = 50_000  # from which on oblivious trees have a level more
_SAMPLING_ELSEWHERE = {"bernoulli": "documents", "object": "documents", "group": "queries"}


class _Prepared(NamedTuple):
    """What is made of labels and constraints before any work on features."""

    objective: Objective
    sampler: TreeSampler
    directions: Sequence[int] | None
    groups: Sequence[Sequence[int]] | None


@declared
class BoostedRanker(TreeRanker):
    """Base of the boosted rankers; a subclass gives its objective by ``_objective``.

    Each iteration computes the gradients of the objective at the current scores, grows one tree per
    output on them, sets its leaf values (Newton steps unless the objective has its own) and adds it
    to the scores, shrunken by the learning rate.
    """

    family: ClassVar[str] = "boosted trees"
    learns_in_steps: ClassVar[bool] = True
    _auto_statistics: ClassVar[bool] = True
    continues_models: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...]] = ("rows",)

    missing: str = param("keep", MISSING_IN_TREES, MISSING_IN_TREES_MEANING)
    n_estimators: int = param(1000, Integer(1), "maximum number of boosting iterations")
    learning_rate: float = param(
        0.1, Real(0, 1000, above=True), "shrinkage of each tree", search=Span(0.02, 0.3, log=True)
    )
    tree: str = param(
        "auto",
        Choice("auto", "leafwise", "levelwise", "oblivious", elsewhere=_GROWTH_ELSEWHERE),
        "how trees grow: best leaf first, level by level, or one rule for all nodes of a level "
        "(oblivious); auto: oblivious, but leafwise with monotone, a criterion of your own, "
        "missing='branch' or a max_depth above 12, which oblivious trees do not take",
    )
    max_leaf_nodes: int | str | None = param(
        "auto",
        AnyOf(Integer(2), Choice("auto"), Nothing()),
        "maximum number of leaves of a tree; auto: 31, of oblivious trees 16, or 32 from 50,000 "
        "documents on, or as many as max_depth allows; None: no limit",
        search=Span(7, 127, log=True),
    )
    max_depth: int | None = param(
        None,
        AnyOf(Integer(1), Nothing()),
        "maximum depth (levels of splits); None: as max_leaf_nodes allows (oblivious trees: up to "
        "12)",
    )
    min_samples_leaf: int | None = param(
        None,
        AnyOf(Integer(1), Nothing()),
        "minimum number of documents in a leaf; None: 20 (oblivious trees: 1). An oblivious tree "
        "splits every node of a level, however small: a split adds no gain in nodes where a child "
        "would be smaller, and a smaller leaf has the value of its nearest ancestor that is large "
        "enough",
        search=Span(1, 200, log=True),
    )
    min_child_weight: float | None = param(
        None,
        AnyOf(Real(0), Nothing()),
        "minimum sum of Hessians in a leaf; None: 0.001 (oblivious trees: 0, and as for "
        "min_samples_leaf)",
    )
    l1: float = param(
        0.0,
        Real(0),
        "shrinks the sum of gradients of a leaf towards 0, in its value and in Newton gains",
    )
    l2: float = param(
        1.0,
        Real(0),
        "added to the sum of Hessians of a leaf, in its value and in Newton gains; more suits "
        "small data",
        search=Span(0.1, 100.0, log=True),
    )
    min_gain: float = param(0.0, Real(0), "minimum gain of a split")
    random_strength: float = param(
        0.0,
        Real(0, 1000),
        "noise on the scores of splits, in units of what they reach by chance; it fades as the "
        "model grows. 1 is CatBoost's default; 0: none",
    )
    criterion: str | SplitCriterion = param(
        "newton",
        AnyOf(
            Choice("newton", "least_squares"),
            Satisfies(callable, "a function gain(G_left, H_left, G_right, H_right)"),
        ),
        "gain of a split: G² / H summed over the children, or as if all Hessians were 1 (a "
        "regression tree fitted to the gradients), or by a function of your own on arrays of sums "
        "of gradients G and Hessians H",
    )
    subsample: float = param(
        1.0,
        Real(0, 1, above=True),
        "share of the data on which each tree is grown",
        search=Span(0.3, 1.0),
    )
    sampling: str = param(
        "queries",
        Choice(*SAMPLINGS, elsewhere=_SAMPLING_ELSEWHERE),
        "how the data of a tree are drawn: ``subsample`` of the queries or documents without "
        "replacement; all documents or queries, weighted at random (bayesian); documents by their "
        "gradients (goss, mvs); or all relevant documents and the part ``subsample`` of the others "
        "that is scored best (hard-negatives)",
    )
    temperature: float = param(
        1.0, Real(0, 100), "power T of the weights (-ln u)^T of the Bayesian bootstrap"
    )
    top_rate: float = param(
        0.2,
        Real(0, 1, above=True),
        "GOSS: share of the documents that are kept for their large gradients",
    )
    other_rate: float = param(
        0.1, Real(0, 1, above=True), "GOSS: share of the documents that are drawn from the others"
    )
    mvs_reg: float = param(
        0.1, Real(0), "MVS: how much Hessians count beside gradients, whatever the loss"
    )
    selection_rounds: int = param(
        10,
        Integer(1),
        "hard negatives: iterations before the first selection, and from one to the next",
    )
    drop_rate: float = param(
        0.0, Real(0, 1), "DART: chance of each earlier tree to be left out in a step; 0: no dropout"
    )
    skip_drop: float = param(0.5, Real(0, 1), "DART: chance of a step to leave out nothing")
    max_drop: int = param(50, Integer(1), "DART: maximum number of trees that a step drops")
    max_features: float = param(
        1.0, Real(0, 1, above=True), "share of the features tried per node", search=Span(0.2, 1.0)
    )
    max_features_tree: float = param(
        1.0, Real(0, 1, above=True), "share of the features that each tree may use"
    )
    monotone: Directions | None = param(
        None,
        AnyOf(Nothing(), DIRECTIONS),
        "direction of each feature's effect: 1 the score never falls as it grows, -1 never rises, "
        "0 free; a dict (``price=-1,clicks=1`` on the command line) leaves other columns free",
    )
    interactions: Groups | None = param(
        None,
        AnyOf(Nothing(), GROUPS),
        "groups of features that may interact: those on the way to a leaf are all in one group, "
        "and a feature in no group is alone (``price,clicks;age,clicks`` on the command line)",
    )
    max_bins: int = param(
        255, Integer(2, 65534), "distinct values kept per feature; above 255 takes twice the memory"
    )
    binning: str = param(
        "quantile",
        Choice(
            "quantile",
            "greedy-log-sum",
            elsewhere={"greedylogsum": "greedy-log-sum", "median": "quantile"},
        ),
        "bins of features with more than ``max_bins`` distinct values: of about equal numbers of "
        "rows, or such that the sum of the logarithms of these numbers is large (as in CatBoost)",
    )
    category_smoothing: float = param(
        3.0,
        Real(0),
        "documents with the mean Hessian of the node, added to the sum of Hessians of a category "
        "before categories are ordered by G / H",
    )
    category_l2: float = param(
        10.0,
        Real(0),
        "documents with the mean Hessian of the node, added to l2 in the gain of a split by a set "
        "of categories",
    )
    max_split_categories: int = param(
        1024,
        Integer(1),
        "maximum number of categories that a split lists; all others go to the other side",
    )
    max_onehot_categories: int = param(
        4,
        Integer(0),
        "up to this many categories in a node, each is tried alone against all others",
    )
    min_samples_category: int = param(
        30,
        Integer(1),
        "documents of a category in a node at least (estimated by its share of the Hessians); "
        "rarer ones are not listed",
    )
    category_penalty: float = param(
        1.0,
        Real(0, 1000),
        "off the gain of a set of categories, in units of the gain of the best set of this size by "
        "chance: m (1 + 2 ln(n / m)) (sum of g² / sum of h) for m of n categories",
    )

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = super()._unused_parameters(data)
        if not data.columns.categories:
            unused |= dict.fromkeys(_CATEGORY_PARAMETERS, "without categorical columns")
        elif self.category_splits == "statistics":
            unused |= dict.fromkeys(_CATEGORY_PARAMETERS, "with category_splits='statistics'")
        if self.missing == "branch":
            unused["random_strength"] = "with missing='branch'"
        if callable(self.criterion):
            unused["random_strength"] = "with a criterion of your own, whose scale is not known"
        if self.drop_rate == 0:
            unused |= dict.fromkeys(("skip_drop", "max_drop"), "with drop_rate=0")
        return {**unused, **unused_by_sampling(self.sampling)}

    def _statistic_columns(self, data: RankingInput) -> list[int]:
        """Return no columns by default where constraints name the columns of the data."""
        constrained = self.monotone is not None or self.interactions is not None
        if constrained and self.category_splits == "auto":
            return []
        return super()._statistic_columns(data)

    def _objective(self, data: TrainingData) -> Objective:
        """Build the objective of this ranker for the training data."""
        raise NotImplementedError

    def _check_init_model(self, init_model: Any) -> None:
        for name in ("monotone", "interactions"):
            value = getattr(self, name)
            if (
                init_model is None
                or value is None
                or str(getattr(init_model, name, None)) == str(value)
            ):
                continue
            warnings.warn(
                f"parameter {name} of {type(self).__name__} holds for the new trees only: "
                f"init_model was not trained with the same {name}, so the whole model may not "
                "satisfy it",
                DataWarning,
                stacklevel=4,
            )

    def _check_fit(self, fit: Fit) -> None:
        if not self._statistic_columns(fit.data):  # else constraints are on columns to be derived
            self._prepared(fit)

    def _prepared(self, fit: Fit) -> _Prepared:
        """Return all that a fit needs besides bins; refuse what it cannot learn."""
        if self.criterion == "least_squares" and _weights_differ(fit):
            raise ValueError(
                f"parameter criterion of {type(self).__name__} is 'least_squares', which counts "
                "every document alike: with different sample_weight, use 'newton'"
            )
        refuse_sampling(self, fit)
        self._refuse_growth()
        objective, sampler = self._objective_and_sampler(fit)
        directions = self._directions(objective, fit.data.columns)
        groups = (
            None
            if self.interactions is None
            else groups_by_number(self.interactions, fit.data.columns)
        )
        return _Prepared(objective, sampler, directions, groups)

    def _learn(self, fit: Fit) -> FitResult:
        data, n_jobs = fit.data, self.n_jobs
        objective, sampler, directions, groups = self._prepared(fit)
        bins = shared_bins(
            data.X,
            fit.shard,
            max_bins=self.max_bins,
            binning=self.binning,
            fill=fit.fill,
            n_jobs=n_jobs,
        )
        binned = cached_codes(data.X, bins, rows=data.groups.order, n_jobs=n_jobs)
        start = self._start(fit, objective)
        eval_outputs = {
            eval_set.name: BinnedOutputs.of(eval_set.data, bins, start, n_jobs)
            for eval_set in fit.evaluation.sets
            if not eval_set.is_train or start.training_outputs is not None
        }
        boosting = Boosting(
            objective=objective,
            grower=self._grower(binned, fit.shard, directions, groups),
            sampler=sampler,
            outputs=start.training_scores(data, n_jobs),
            learning_rate=self.learning_rate,
            random_strength=self.random_strength,
            dropout=self._dropout(fit.seed),
            seed=fit.seed,
            n_jobs=n_jobs,
            eval_outputs=list(eval_outputs.values()),
        )
        if not fit.shard.single_worker:
            data.X.release()  # a worker needs the codes from here on
        loop = run_boosting(self, fit, boosting, eval_outputs, bins)
        trees = boosting.kept_trees(loop.n_kept)
        n_outputs = len(start.base_score)
        model = TreesModel(
            columns=data.columns,
            absent=data.absent,
            ensemble=TreeEnsemble.from_trees(
                [tree for grown in trees for tree in grown],
                data.columns.count,
                outputs=np.tile(np.arange(n_outputs), len(trees)),
                base_score=start.base_score,
            ),
            fill=fit.fill,
            link=objective.link,
            trees_per_step=n_outputs,
            saw_missing=saw_missing(bins),
        )
        attributes = self._fitted_attributes(fit, objective, loop.n_kept)
        return FitResult(start.followed_by(model), attributes, loop.interrupted)

    def _fitted_attributes(self, fit: Fit, objective: Objective, n_steps: int) -> dict[str, Any]:
        """Return fitted attributes besides the model of the first ``n_steps`` steps."""
        return {}

    def _objective_and_sampler(self, fit: Fit) -> tuple[Objective, TreeSampler]:
        """Return the objective on the training data, and what draws the rows of each tree."""
        training = self._training_data(fit)
        whose = (fit.data.groups, fit.shard, fit.seed)
        if self.sampling == "hard-negatives":
            hard = HardNegatives(training, self._objective, self.subsample, self.selection_rounds)
            return hard, SelectedRows(*whose, hard)
        return self._objective(training), make_sampler(self, *whose)

    def _training_data(self, fit: Fit) -> TrainingData:
        """Return the training data as objectives see them."""
        data = fit.data
        return TrainingData(
            data.y,
            data.groups.offsets,
            data.weight,
            n_threads=resolve_n_jobs(self.n_jobs),
            seed=fit.seed,
            query_ids=data.groups.ids,
            shard=fit.shard,
        )

    def _dropout(self, seed: int) -> TreeDropout | None:
        if self.drop_rate == 0:
            return None
        return TreeDropout(self.drop_rate, self.skip_drop, self.max_drop, seed)

    def _start(self, fit: Fit, objective: Objective) -> Start:
        """Return the initial scores: a constant, or those of the init model."""
        return Start.of(fit.init_model, objective, type(self).__name__)

    def _directions(self, objective: Objective, columns: Columns) -> Sequence[int] | None:
        """Return ``monotone`` per feature; refuse what leaf values or the link would break."""
        if self.monotone is None:
            return None
        directions = direction_per_feature(self.monotone, columns)
        if objective.sets_leaf_values:
            raise ValueError(
                f"{type(self).__name__} sets leaf values by its own rule and cannot keep "
                "monotone constraints"
            )
        if not objective.link.is_monotone:
            raise ValueError(
                f"the score of {type(self).__name__} may fall where all its outputs rise, and "
                "cannot keep monotone constraints"
            )
        return directions

    @property
    def _growth(self) -> str:
        """How trees grow: ``tree``, or for ``auto`` what the other parameters allow."""
        if self.tree != "auto":
            return self.tree
        return "leafwise" if self._beyond_oblivious() else "oblivious"

    def _beyond_oblivious(self) -> list[str]:
        """Return the parameters whose values oblivious trees do not take."""
        demands = {
            "monotone": self.monotone is not None,
            "criterion": callable(self.criterion),
            "missing": self.missing == "branch",
            "max_depth": (self.max_depth or 0) > _DEEPEST_OBLIVIOUS,
        }
        return [name for name, demanded in demands.items() if demanded]

    def _refuse_growth(self) -> None:
        beyond = self._beyond_oblivious()
        if self.tree == "oblivious" and beyond:
            raise ValueError(
                f"parameter {beyond[0]} of {type(self).__name__} is "
                f"{getattr(self, beyond[0])!r:.100}, which oblivious trees do not take: set tree "
                "to 'leafwise' or 'levelwise'"
            )

    @property
    def _least_documents(self) -> int:
        return _limit(self.min_samples_leaf, 1 if self._growth == "oblivious" else 20)

    def _most_leaves(self, n_rows: int) -> int:
        if self.max_leaf_nodes is None:
            return n_rows
        return 31 if self.max_leaf_nodes == "auto" else int(self.max_leaf_nodes)

    def _oblivious_levels(self, n_rows: int) -> int:
        given = self.max_depth
        if self.max_leaf_nodes == "auto":
            return given or (5 if n_rows >= _MANY_ROWS else 4)
        if self.max_leaf_nodes is None and given is not None:
            return given
        levels = max(1, self._most_leaves(n_rows).bit_length() - 1)
        return min(given or _DEEPEST_OBLIVIOUS, levels)

    def _grower(
        self,
        binned: BinnedMatrix,
        shard: RowShard,
        monotone: Sequence[int] | None,
        interactions: Sequence[Sequence[int]] | None,
    ) -> TreeGrower:
        oblivious = self._growth == "oblivious"
        return TreeGrower(
            binned,
            tree=self._growth,
            max_leaf_nodes=max(2, self._most_leaves(shard.n_rows)),
            max_depth=self._oblivious_levels(shard.n_rows) if oblivious else self.max_depth,
            min_samples_leaf=self._least_documents,
            min_child_weight=_limit(self.min_child_weight, 0.0 if oblivious else 1e-3),
            l1=self.l1,
            l2=self.l2,
            min_gain=self.min_gain,
            criterion=self.criterion,
            max_features=self.max_features,
            max_features_tree=self.max_features_tree,
            monotone=monotone,
            interactions=interactions,
            categories=CategoryRules(
                self.category_smoothing,
                self.category_l2,
                self.max_split_categories,
                self.max_onehot_categories,
                self.min_samples_category,
                self.category_penalty,
            ),
            missing_branch=self.missing == "branch",
            n_jobs=self.n_jobs,
            shard=shard,
        )


def _weights_differ(fit: Fit) -> bool:
    weight = fit.data.weight
    if weight is None:
        return False
    return fit.shard.maximum(weight, -np.inf) != -fit.shard.maximum(-weight, -np.inf)


def _limit(given: Number | None, default: Number) -> Number:
    return default if given is None else given


def run_boosting(
    ranker: Any, fit: Fit, boosting: Boosting, eval_outputs: Mapping[str, BinnedOutputs], bins: Bins
) -> StepLoop:
    """Run the steps of a boosted fit, after those in its journal, until the loop ends.

    Parameters
    ----------
    eval_outputs : outputs of evaluation sets by name; those of the training data are in boosting
    bins : of the training data
    """
    fit.journal.open(fit_key(ranker, fit, bins), lambda: boosting.trees[-1])
    link, n_threads = boosting.objective.link, resolve_n_jobs(ranker.n_jobs)

    def scores() -> dict[str, Floats]:
        outputs = {
            eval_set.name: eval_outputs.get(eval_set.name, boosting).outputs
            for eval_set in fit.evaluation.sets
        }
        return {name: link.apply(values, n_threads) for name, values in outputs.items()}

    by_query: list[Floats | None] = []
    boosting.replay(
        fit.journal.trees,
        lambda: by_query.append(fit.evaluation.query_values(scores())),
    )
    with fit.step_loop(ranker, ranker.n_estimators, by_query) as loop:
        while not loop.finished:
            boosting.step()
            loop.step_done(scores())
    return loop
