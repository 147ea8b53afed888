"""Boosted trees: the parameters of the loop, and a fit that is the same for every objective."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.boosting.loop import Boosting, EvalOutputs
from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.boosting.sampling import RowSampler
from rankgrove.boosting.start import Start
from rankgrove.data.core.columns import Columns
from rankgrove.data.core.names import match_names
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.models.trees import TreesModel
from rankgrove.rankers.base.declaration import declared, param
from rankgrove.rankers.base.estimator import BaseRanker
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
    numbers_reader,
)
from rankgrove.training.step_loop import StepLoop
from rankgrove.trees.bin_cache import cached_codes
from rankgrove.trees.binning import BinnedMatrix, Bins
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.growing import SplitCriterion, TreeGrower
from rankgrove.trees.shared_binning import shared_bins
from rankgrove.workers.row_shard import RowShard

Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", int, float)


def _are_directions(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) for name in value) and _are_directions([*value.values()])
    return np.ndim(value) == 1 and bool(np.isin(np.asarray(value), (-1, 0, 1)).all())


def _read_directions(text: str) -> dict[str, int] | list[int]:
    """Read ``-1,0,1`` or ``price=-1,clicks=1``."""
    if "=" not in text:
        return numbers_reader(text)
    pairs = [part.rpartition("=") for part in text.split(",")]
    return {name.strip(): int(direction) for name, _, direction in pairs}


@declared
class BoostedRanker(BaseRanker):
    """Base of the boosted rankers; a subclass gives its objective by ``_objective``.

    Each iteration computes the gradients of the objective at the current scores, grows one tree per
    output on them, sets its leaf values (Newton steps unless the objective has its own) and adds it
    to the scores, shrunken by the learning rate.
    """

    family: ClassVar[str] = "boosted trees"
    learns_in_steps: ClassVar[bool] = True
    continues_models: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...]] = ("rows",)

    n_estimators: int = param(1000, Integer(1), "boosting iterations at most")
    learning_rate: float = param(
        0.1, Real(0, 1000, above=True), "shrinkage of each tree", search=Span(0.02, 0.3, log=True)
    )
    tree: str = param(
        "leafwise",
        Choice("leafwise", "levelwise", "oblivious"),
        "how trees grow: best leaf first, level by level, or one rule for all nodes of a level",
    )
    max_leaf_nodes: int | None = param(
        31,
        AnyOf(Integer(2), Nothing()),
        "leaves of a tree at most; None: no limit",
        search=Span(7, 127, log=True),
    )
    max_depth: int | None = param(
        None,
        AnyOf(Integer(1), Nothing()),
        "levels of splits at most; None: no limit (oblivious trees: as max_leaf_nodes allows, "
        "up to 12)",
    )
    min_samples_leaf: int | None = param(
        None,
        AnyOf(Integer(1), Nothing()),
        "documents in a leaf at least; None: 20 (oblivious trees split every node of a level and "
        "take no limit)",
        search=Span(1, 200, log=True),
    )
    min_child_weight: float | None = param(
        None,
        AnyOf(Real(0), Nothing()),
        "sum of Hessians in a leaf at least; None: 0.001 (oblivious trees take no limit)",
    )
    l2: float = param(
        1.0,
        Real(0),
        "added to the sum of Hessians of a leaf, in its value and in Newton gains; more suits "
        "small data",
        search=Span(0.1, 100.0, log=True),
    )
    min_gain: float = param(0.0, Real(0), "gain of a split at least")
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
        "part of the data from which each tree learns",
        search=Span(0.3, 1.0),
    )
    sampling: str = param(
        "queries",
        Choice("queries", "documents"),
        "what ``subsample`` draws, without replacement: whole queries, or single documents",
    )
    max_features: float = param(
        1.0, Real(0, 1, above=True), "part of the features tried per node", search=Span(0.2, 1.0)
    )
    max_features_tree: float = param(
        1.0, Real(0, 1, above=True), "part of the features that each tree may use"
    )
    monotone: Sequence[int] | Mapping[str, int] | None = param(
        None,
        AnyOf(
            Nothing(),
            Satisfies(
                _are_directions,
                "one of -1, 0, 1 per feature, or a dict {column: -1, 0 or 1}",
                _read_directions,
            ),
        ),
        "direction of each feature's effect: 1 the score never falls as it grows, -1 never rises, "
        "0 free; a dict (``price=-1,clicks=1`` on the command line) leaves other columns free",
    )
    max_bins: int = param(
        255, Integer(2, 65534), "distinct values kept per feature; above 255 takes twice the memory"
    )

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        if self.tree == "oblivious" and self.max_depth is not None:
            return {"max_leaf_nodes": "on oblivious trees with a max_depth"}
        return {}

    def _objective(self, data: TrainingData) -> Objective:
        """Build the objective of this ranker for the training data."""
        raise NotImplementedError

    def _learn(self, fit: Fit) -> FitResult:
        data, n_jobs = fit.data, self.n_jobs
        if self.criterion == "least_squares" and _weights_differ(fit):
            raise ValueError(
                f"parameter criterion of {type(self).__name__} is 'least_squares', which counts "
                "every document alike: with different sample_weight, use 'newton'"
            )
        bins = shared_bins(data.X, fit.shard, max_bins=self.max_bins, fill=fit.fill, n_jobs=n_jobs)
        binned = cached_codes(data.X, bins, rows=data.groups.order, n_jobs=n_jobs)
        objective = self._objective(
            TrainingData(
                data.y,
                data.groups.offsets,
                data.weight,
                n_threads=resolve_n_jobs(n_jobs),
                seed=fit.seed,
                query_ids=data.groups.ids,
                shard=fit.shard,
            )
        )
        directions = self._directions(objective, data.columns)
        start = self._start(fit, objective)
        eval_outputs = {
            watched.name: EvalOutputs.of(watched.data, bins, start, n_jobs)
            for watched in fit.watch.sets
            if not watched.is_train or start.training_outputs is not None
        }
        boosting = Boosting(
            objective=objective,
            grower=self._grower(binned, fit.shard, directions),
            sampler=RowSampler(data.groups, fit.shard, self.subsample, self.sampling, fit.seed),
            outputs=start.training_scores(data, n_jobs),
            learning_rate=self.learning_rate,
            seed=fit.seed,
            n_jobs=n_jobs,
            eval_outputs=list(eval_outputs.values()),
        )
        loop = run_boosting(self, fit, boosting, eval_outputs, bins)
        trees = boosting.trees[: loop.n_kept]
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
        )
        return FitResult(start.followed_by(model), interrupted=loop.interrupted)

    def _start(self, fit: Fit, objective: Objective) -> Start:
        """Return the initial scores: a constant, or those of the background model."""
        return Start.of(fit.background, objective, type(self).__name__)

    def _directions(self, objective: Objective, columns: Columns) -> Sequence[int] | None:
        """Return ``monotone`` per feature; refuse what leaf values or the link would break."""
        if self.monotone is None:
            return None
        if isinstance(self.monotone, Mapping):
            match = match_names(tuple(self.monotone), columns.all_names)
            if match.lacking:
                raise ValueError(
                    f"parameter monotone names the column {match.lacking[0]!r}, which the data do "
                    f"not have{_close_name(match.lacking[0], columns.all_names)}"
                )
            directions = [self.monotone.get(name, 0) for name in columns.all_names]
        else:
            directions = list(self.monotone)
        if len(directions) != columns.count:
            raise ValueError(
                f"parameter monotone has {len(directions)} entries but the data has "
                f"{columns.count} features"
            )
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
    def _least_documents(self) -> int:
        return _limit(self.min_samples_leaf, 1 if self.tree == "oblivious" else 20)

    def _grower(
        self, binned: BinnedMatrix, shard: RowShard, monotone: Sequence[int] | None
    ) -> TreeGrower:
        max_leaf_nodes = shard.n_rows if self.max_leaf_nodes is None else self.max_leaf_nodes
        max_depth = self.max_depth
        oblivious = self.tree == "oblivious"
        if oblivious and max_depth is None:
            max_depth = min(12, max(1, max_leaf_nodes.bit_length() - 1))
        return TreeGrower(
            binned,
            tree=self.tree,
            max_leaf_nodes=max(2, max_leaf_nodes),
            max_depth=max_depth,
            min_samples_leaf=self._least_documents,
            min_child_weight=_limit(self.min_child_weight, 0.0 if oblivious else 1e-3),
            l2=self.l2,
            min_gain=self.min_gain,
            criterion=self.criterion,
            max_features=self.max_features,
            max_features_tree=self.max_features_tree,
            monotone=monotone,
            n_jobs=self.n_jobs,
            shard=shard,
        )


def _close_name(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _weights_differ(fit: Fit) -> bool:
    weight = fit.data.weight
    if weight is None:
        return False
    return fit.shard.maximum(weight, -np.inf) != -fit.shard.maximum(-weight, -np.inf)


def _limit(given: Number | None, default: Number) -> Number:
    return default if given is None else given


def run_boosting(
    ranker: Any, fit: Fit, boosting: Boosting, eval_outputs: Mapping[str, EvalOutputs], bins: Bins
) -> StepLoop:
    """Run the steps of a boosted fit, after those in its journal, until the loop ends.

    Parameters
    ----------
    eval_outputs : outputs of evaluation sets by name; those of the training data are in boosting
    bins : of the training data
    """
    fit.journal.open(fit_key(ranker, fit, bins), lambda: boosting.trees[-1])
    boosting.replay(fit.journal.trees)
    link, n_threads = boosting.objective.link, resolve_n_jobs(ranker.n_jobs)
    with fit.step_loop(ranker, ranker.n_estimators) as loop:
        while not loop.finished:
            boosting.step()
            loop.step_done(
                {
                    watched.name: link.apply(
                        eval_outputs.get(watched.name, boosting).outputs, n_threads
                    )
                    for watched in fit.watch.sets
                }
            )
    return loop
