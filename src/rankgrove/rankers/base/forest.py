"""Forests: their parameters, and a fit that is the same for every way to choose splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import DataError, ModelError
from rankgrove.forests.criteria import find_criterion
from rankgrove.forests.growing import (
    NODE_ORDERS,
    ForestGrower,
    Grown,
    Growth,
    leaf_scores,
    value_type,
)
from rankgrove.forests.out_of_bag import OutOfBag, oob_metric
from rankgrove.forests.sampling import MAX_SAMPLE, SAMPLINGS, TreeSample, n_candidates
from rankgrove.forests.seeded_trees import SeededTrees
from rankgrove.forests.statistics import TreeStatistics, tree_statistics
from rankgrove.metrics.listwise_metric import ListwiseMetric
from rankgrove.models.model import Model
from rankgrove.models.trees import TreesModel, either, same_values
from rankgrove.rankers.base.common_parameters import (
    MISSING_IN_TREES,
    MISSING_IN_TREES_MEANING,
    NODE_ORDER_MEANING,
)
from rankgrove.rankers.base.declaration import declared, param
from rankgrove.rankers.base.fitted import Arrays
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.parameters import AnyOf, Choice, Flag, Integer, Nothing, Real, Span
from rankgrove.rankers.base.tree_ranker import TreeRanker
from rankgrove.training.ordinal import Problems, problems_of
from rankgrove.training.progress import FitProgress, progress_bar
from rankgrove.trees.ensemble import TreeEnsemble
from rankgrove.trees.links import Link
from rankgrove.workers.row_shard import RowShard

if TYPE_CHECKING:
    from rankgrove.forests.strength import StrengthCurve
    from rankgrove.forests.tree_correlation import TreeCorrelation

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Work:
    """State that the forests of all problems of one fit share."""

    grower: ForestGrower
    growth: Growth
    sample: TreeSample
    seed: int
    first_tree: int
    n_before: int


@declared
class ForestRanker(TreeRanker):
    """Base of the forest rankers; a subclass defines how its trees choose their splits.

    Attributes
    ----------
    tree_seeds_, tree_numbers_ : forest seed and number of each tree
    leaf_score_ : the quantity that leaves average
    oob_prediction_ : with ``oob_score``, per training document the mean over the trees whose sample
        did not hold it; NaN if there is none
    oob_score_ : NDCG@10 of these over the queries that have them
    """

    family: ClassVar[str] = "forest"
    shares: ClassVar[tuple[str, ...]] = ("trees", "rows")
    measures_oob = True  # by NDCG; out-of-bag predictions themselves need no grades

    n_estimators: int = param(500, Integer(1), "number of trees")
    subsample: float | int = param(
        0.63,
        AnyOf(Real(0, 1, above=True), Integer(1, MAX_SAMPLE)),
        "sample of each tree: a share up to 1, or a number above 1, of the queries or documents",
        search=Span(0.1, 1.0),
    )
    sampling: str = param(
        "queries",
        Choice(*SAMPLINGS),
        "what is sampled: whole queries or documents, without replacement (queries, documents) or "
        "with (bootstrap-queries, bootstrap)",
    )
    max_features: int | float | str | None = param(
        "log2",
        AnyOf(Choice("log2", "sqrt", "all"), Integer(1), Real(0, 1, above=True), Nothing()),
        "features tried per node: floor(log2(number)) + 1, the root, all (or None), a number or a "
        "fraction",
        search=Span(0.05, 1.0, log=True),
    )
    redraw: bool = param(
        True,
        Flag(),
        "whether a node whose drawn features are all constant there draws more, one at a time, "
        "until one is not; without, such a node is a leaf",
    )
    min_samples_split: int = param(
        2,
        Integer(2),
        "minimum number of documents of a node to be split",
        search=Span(2, 100, log=True),
    )
    min_samples_leaf: int = param(
        5,
        Integer(1),
        "minimum number of documents in a leaf; 1 grows full trees",
        search=Span(1, 50, log=True),
    )
    max_depth: int | None = param(
        None, AnyOf(Integer(1), Nothing()), "maximum depth (levels of splits); None: no limit"
    )
    max_leaf_nodes: int | None = param(
        None, AnyOf(Integer(2), Nothing()), "maximum number of leaves of a tree; None: no limit"
    )
    min_gain: float = param(0.0, Real(0), "a split must gain more than this")
    node_order: str | None = param("breadth-first", Choice(*NODE_ORDERS), NODE_ORDER_MEANING)
    leaf_score: str = param(
        "label",
        Choice("label", "square", "power"),
        "what a leaf averages over its documents: the label c, c^2 or 2^c",
    )
    weighting: str = param(
        "split",
        Choice("split", "draw"),
        "where sample_weight counts: in the statistics of splits and leaves, or as the chance to "
        "be drawn into a tree's sample (a query's is the mean of its documents')",
    )
    max_bins: int = param(
        255, Integer(2, 65534), "distinct values kept per feature; above 255 takes twice the memory"
    )
    missing: str = param("keep", MISSING_IN_TREES, MISSING_IN_TREES_MEANING)
    oob_score: bool = param(False, Flag(), "whether to compute out-of-bag predictions")
    warm_start: bool = param(
        False, Flag(), "whether fit adds trees to those of the last fit, which stay as they are"
    )
    first_tree: int = param(
        0, Integer(0), "number of the first tree, to grow a part of a forest (see merge)"
    )

    def _unused_parameters(self, data: RankingInput) -> dict[str, str]:
        unused = {"weighting": "without sample_weight"} if data.weight is None else {}
        return {**super()._unused_parameters(data), **unused}

    def planned_trees(self) -> tuple[int, int]:
        """Return how many trees a fit grows, and that no boosting follows."""
        return int(self.n_estimators), 0

    def _growth(self, n_features: int) -> Growth:
        """Return how splits are chosen; subclasses change it."""
        return Growth(
            order=self._node_order(),
            max_features=n_candidates(self.max_features, n_features),
            redraw=self.redraw,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            missing_branch=self.missing == "branch",
            min_gain=self.min_gain,
        )

    def _node_order(self) -> str:
        """Return the order in which leaves are split."""
        assert self.node_order is not None
        return self.node_order

    def _metric(self, data: RankingInput) -> ListwiseMetric | None:
        """Return the metric that listwise splits raise."""
        return None

    def _examples(self, fit: Fit, seed: int) -> RankingInput:
        """Return the training examples of the trees: the documents."""
        return fit.data

    def _with_trees(self, model: Model, ensemble: TreeEnsemble) -> Model:
        """Return the model with other trees."""
        return replace(self._trees_model(model), ensemble=ensemble)

    def _trees_model(self, model: Model) -> TreesModel:
        """Return the part of the model that holds the trees."""
        assert isinstance(model, TreesModel)
        return model

    def _problems(self, data: RankingInput, shard: RowShard) -> Problems:
        """Return the targets of the trees: the labels, or several problems of a subclass."""
        return problems_of(data.y, "regression", type(self).__name__, shard)

    def reads_rows_once(self) -> bool:
        """Return whether features are needed once: out-of-bag sums are known by them later."""
        return not self.oob_score

    def sharing(self) -> tuple[str, ...]:
        """Return what workers can share: not the rows with a criterion in Python."""
        if find_criterion(getattr(self, "criterion", "squared_error")).function is None:
            return self.shares
        return tuple(share for share in self.shares if share != "rows")

    def _make_model(self, fit: Fit, ensemble: TreeEnsemble, link: Link) -> Model:
        """Return the model of grown trees."""
        return TreesModel(
            columns=fit.data.columns,
            absent=fit.data.absent,
            ensemble=ensemble,
            fill=fit.fill,
            link=link,
            trees_per_step=ensemble.n_outputs,
            averaged=True,
        )

    def _check_fit(self, fit: Fit) -> None:
        self._growth(fit.data.columns.count)

    def _learn(self, fit: Fit) -> FitResult:
        self._check_fit(fit)
        earlier = self._earlier_trees(fit)
        seed = fit.seed if earlier is None else int(earlier.seeds[-1])
        data = self._examples(fit, seed)
        shard = fit.shard if data is fit.data else RowShard.of(data.groups.offsets)
        problems = self._problems(data, shard)
        if earlier is not None and self._trees_model(self.fitted_model()).link != problems.link:
            raise ModelError("warm_start: the trees of the last fit learnt other grades or a task")
        n_threads = resolve_n_jobs(self.n_jobs)
        fill = fit.fill if data is fit.data else None  # other examples are filled already
        grower = ForestGrower(data, shard, max_bins=self.max_bins, fill=fill, n_threads=n_threads)
        draw = data.weight if self.weighting == "draw" else None
        work = _Work(
            grower=grower,
            growth=self._growth(data.columns.count),
            sample=TreeSample.of(data, shard, self.subsample, self.sampling, draw),
            seed=seed,
            first_tree=self.first_tree if earlier is None else earlier.next_number(seed),
            n_before=0 if earlier is None else len(earlier.numbers),
        )
        bag = self._empty_bag(data, shard, problems, earlier) if self.oob_score else None
        grown = self._grow(data, problems, work, bag)
        saw_missing = grower.saw_missing
        del work, grower  # free the codes before the trees are copied into a model
        trees = self._seeded(grown, seed, data, shard)
        whole = trees if earlier is None else earlier.followed_by(trees)
        attributes: dict[str, Any] = {
            "tree_seeds_": whole.seeds,
            "tree_numbers_": whole.numbers,
            "leaf_score_": self.leaf_score,
            "oob_": None if bag is None else bag.finished(data, shard, self.measures_oob),
        }
        model = self._make_model(fit, whole.averaged(), problems.link)
        if isinstance(model, TreesModel):
            if earlier is not None:
                before = self._trees_model(self.fitted_model()).saw_missing
                saw_missing = either(before, saw_missing)
            model = replace(model, saw_missing=saw_missing)
        return FitResult(model, attributes, any(forest.interrupted for forest in grown))

    def _grow(
        self, data: RankingInput, problems: Problems, work: _Work, bag: OutOfBag | None
    ) -> list[Grown]:
        """Grow the remaining trees, problem by problem."""
        n_trees = self.n_estimators - work.n_before
        progress = FitProgress(self, self.n_estimators * len(problems.targets))
        forests: list[Grown] = []
        with progress_bar(self.ranker_name, self.verbose) as draw:
            for number, target in enumerate(problems.targets):

                def report(n_done: int, done: int = number * n_trees) -> None:
                    progress.iteration = work.n_before + done + n_done
                    draw(progress)

                targets = work.grower.targets(
                    target,
                    by=work.growth.criterion,
                    leaf_score=self.leaf_score,
                    weight=data.weight if self.weighting == "split" else None,
                    metric=self._metric(data),
                )
                grown = work.grower.grow(
                    targets,
                    work.growth,
                    work.sample,
                    seed=work.seed,
                    first_tree=work.first_tree,
                    n_trees=n_trees,
                    out_of_bag=None if bag is None else bag.of_problem(number),
                    progress=report if self.verbose else None,
                )
                forests.append(grown)
                if grown.interrupted:
                    break
        if len(forests) < len(problems.targets) or not (forests[0].trees or work.n_before):
            raise KeyboardInterrupt
        return forests

    def _seeded(
        self, forests: list[Grown], seed: int, data: RankingInput, shard: RowShard
    ) -> SeededTrees:
        """Return the trees step by step, one per problem, up to the shortest problem."""
        n_steps = min(len(forest.trees) for forest in forests)
        numbers = forests[0].numbers[:n_steps]
        trees = [forest.trees[step] for step in range(n_steps) for forest in forests]
        for forest in forests:
            forest.trees.clear()
        ensemble = TreeEnsemble.from_trees(
            trees,
            data.columns.count,
            outputs=np.tile(np.arange(len(forests)), n_steps),
            base_score=np.zeros(len(forests)),
            value_type=value_type(leaf_scores(data.y, self.leaf_score), shard),
            n_jobs=resolve_n_jobs(self.n_jobs),
        )
        seeds = np.full(n_steps, seed, np.int64)
        return SeededTrees(ensemble, seeds, np.asarray(numbers, np.int64))

    def _earlier_trees(self, fit: Fit) -> SeededTrees | None:
        """Return the trees that warm_start keeps, with the columns of the new data."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        if self.n_estimators < len(self.tree_numbers_):
            raise ValueError(
                f"parameter n_estimators is {self.n_estimators}, less than the "
                f"{len(self.tree_numbers_)} trees that warm_start keeps"
            )
        if self.leaf_score != self.leaf_score_:
            kept, new = self.leaf_score_, self.leaf_score
            raise ModelError(f"warm_start: trees with leaf_score {kept!r} and {new!r} do not mix")
        try:
            known = self.fitted_model().columns.places_in(fit.data.columns, "the data")
            model = self.fitted_model().with_columns(fit.data.columns)
        except DataError as error:
            raise DataError(f"warm_start: the trees do not fit the data: {error}") from error
        old = self._trees_model(model)
        # Only of columns that the trees know: target statistics are columns of one fit.
        fills = [None if fill is None else fill[known] for fill in (old.fill, fit.fill)]
        if not same_values(*fills):
            raise ModelError(
                "warm_start: the trees of the last fit took other values for missing ones: fit "
                "anew, or with missing='keep'"
            )
        if None not in (model.absent, fit.data.absent) and model.absent != fit.data.absent:
            raise ModelError(
                f"warm_start: features absent from the text were read as {fit.data.absent!r}, but "
                f"as {model.absent!r} in the last fit"
            )
        return SeededTrees(old.ensemble, self.tree_seeds_, self.tree_numbers_)

    def _empty_bag(
        self, data: RankingInput, shard: RowShard, problems: Problems, earlier: SeededTrees | None
    ) -> OutOfBag:
        """Return out-of-bag sums to add to: those of the kept trees, or 0, in grouped order."""
        n_rows = data.groups.n_rows
        if self.measures_oob and n_rows:  # refuses bad labels before growth
            oob_metric(data.y, np.zeros(n_rows), data.groups.sizes)
        if earlier is None or self.oob_ is None:
            return OutOfBag.empty(n_rows, problems)
        if not self.oob_.is_of(data, shard):
            raise DataError(
                "warm_start: out-of-bag predictions go on with the documents of the last fit, and "
                "these are others: set oob_score=False"
            )
        return self.oob_.grouped(data, shard)

    @property
    def oob_prediction_(self) -> Floats:
        """Mean of the trees whose sample did not hold the document, per training document."""
        return self._bag().prediction

    @property
    def oob_score_(self) -> float:
        """NDCG@10 of the out-of-bag predictions, over the queries that have them."""
        return self._bag().ndcg

    def _bag(self) -> OutOfBag:
        if not self.__sklearn_is_fitted__() or self.oob_ is None:
            raise AttributeError("out-of-bag predictions need fit with oob_score=True")
        return self.oob_

    def tree_statistics(self) -> TreeStatistics:
        """Size and score of the leaves of each tree (Ibrahim and Carman, table XII)."""
        return tree_statistics(self._trees_model(self.fitted_model()).ensemble)

    def strength_curve(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        metric: str = "ndcg",
        n_trees: int | None = None,
    ) -> StrengthCurve:
        """Measure single trees after each of their splits (Ibrahim and Carman, figure 7).

        Parameters
        ----------
        X, y, qid, group_sizes : the data to rank, training or test data, as in ``fit``
        metric : ndcg, dcg, p@k or rbp with its parameters; tied documents share their ranks
        n_trees : number of trees to average over; None: all

        Returns
        -------
        the mean over queries and trees by number of splits; draw it with
        ``rankgrove.experiments.curves.curves_svg`` or ``plot_curves``
        """
        from rankgrove.forests.strength import strength_curve

        model = self.fitted_model()
        data = self._judged_data(X, y, qid, group_sizes, "strength_curve")
        return strength_curve(model, data, metric, n_trees, self.n_jobs)

    def tree_correlation(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        metric: str = "ndcg",
    ) -> TreeCorrelation:
        """Measure how good single trees are, and how much their errors have in common.

        A forest's error falls as its trees get stronger, and as they get less correlated (Breiman
        2001, section 11; Ibrahim and Carman 2016, section 6.3).

        Parameters
        ----------
        X, y, qid, group_sizes : training or test data, as in ``fit``
        metric : of the strength of single trees; the whole list counts unless it says otherwise
        """
        from rankgrove.forests.tree_correlation import tree_correlation

        model = self.fitted_model()
        data = self._judged_data(X, y, qid, group_sizes, "tree_correlation")
        return tree_correlation(model, data, metric, self.n_jobs)

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        values["leaf_score"] = self.leaf_score_
        arrays["tree_seeds"] = self.tree_seeds_
        arrays["tree_numbers"] = self.tree_numbers_
        if self.oob_ is not None:
            self.oob_.pack(values, arrays)
        return values, arrays

    def _set_fitted(self, values: Mapping[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        self.tree_seeds_ = _whole_numbers(arrays, "tree_seeds")
        self.tree_numbers_ = _whole_numbers(arrays, "tree_numbers")
        self.leaf_score_ = values.get("leaf_score", self.leaf_score)
        if len(self.tree_seeds_) != len(self.tree_numbers_):
            raise ModelError("tree_seeds and tree_numbers have different lengths")
        self.oob_: OutOfBag | None = None
        if "oob_sum" in arrays:
            self.oob_ = OutOfBag.unpack(values, arrays, self._trees_model(self.fitted_model()))


def _whole_numbers(arrays: Arrays, name: str) -> npt.NDArray[np.int64]:
    array = arrays[name]
    if array.dtype != np.int64 or array.ndim != 1:
        raise ModelError(f"{name} are not whole numbers")
    return array
