"""Random forests over queries: what all forest rankers share.

A tree is grown on a sub-sample, usually of whole queries; a leaf answers the expected relevance of
its documents, and the forest the mean of its trees. Every tree is seeded by (seed, its number), so
that a forest is the same for any number of threads, and can be grown in parts (see ``first_tree``)
that ``merge`` (merging.py) puts together.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.features import check_columns
from rankgrove.errors import DataError, TrainingInterrupted
from rankgrove.rankers.base import Arrays
from rankgrove.rankers.declaration import param, ranker
from rankgrove.rankers.forest_data import filled_offsets, forest_data
from rankgrove.rankers.forest_statistics import TreeStatistics, tree_statistics
from rankgrove.rankers.inputs import RankingInput, ranking_input
from rankgrove.rankers.parameters import AnyOf, Choice, Flag, Integer, Nothing, Real
from rankgrove.rankers.progress import FitProgress, progress_bar
from rankgrove.rankers.seeded_trees import SeededTrees
from rankgrove.rankers.tree_ranker import TreeRanker
from rankgrove.trees.ensemble import TreeEnsemble

if TYPE_CHECKING:
    from rankgrove.rankers.forest_strength import StrengthCurve

Self = TypeVar("Self", bound="ForestRanker")
Floats = npt.NDArray[np.float64]

NODE_ORDERS = ("breadth-first", "depth-first", "random", "biggest-first", "most-relevant-first")
UNLIMITED = 2**31 - 1


@ranker
class ForestRanker(TreeRanker):
    """Base of the forest rankers; a subclass says how its trees choose their splits.

    Attributes
    ----------
    ensemble_ : the trees; each weighs 1 / number of trees
    tree_seeds_, tree_numbers_ : what each tree was seeded by
    oob_prediction_ : with ``oob_score``, per training document the mean over the trees whose sample
        did not hold it; NaN if there is none
    oob_score_ : NDCG@10 of these over the queries that have them
    """

    n_estimators: int = param(500, Integer(1), "number of trees")
    subsample: float | int = param(
        0.63,
        AnyOf(Real(0, 1, above=True), Integer(1)),
        "sample of each tree: a fraction (float) or a number (int) of queries or documents",
    )
    sampling: str = param(
        "queries",
        Choice("queries", "documents"),
        "what is sampled: whole queries without replacement, or documents with replacement "
        "(bootstrap)",
    )
    max_features: int | float | str = param(
        "log2",
        AnyOf(Choice("log2", "sqrt", "all"), Integer(1), Real(0, 1, above=True)),
        "features tried per node: floor(log2(number)) + 1, the root, all, a number or a fraction",
    )
    min_samples_split: int = param(2, Integer(2), "documents of a node that may be split at least")
    min_samples_leaf: int = param(1, Integer(1), "documents in a leaf at least")
    max_depth: int | None = param(
        None, AnyOf(Integer(1), Nothing()), "levels of splits at most; None: no limit"
    )
    max_leaf_nodes: int | None = param(
        None, AnyOf(Integer(2), Nothing()), "leaves of a tree at most; None: no limit"
    )
    min_gain: float = param(0.0, Real(0), "a split must gain more than this")
    node_order: str = param("breadth-first", Choice(*NODE_ORDERS), "which leaf is split next")
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
    oob_score: bool = param(False, Flag(), "whether to compute out-of-bag predictions")
    warm_start: bool = param(False, Flag(), "whether fit adds trees to those of the last fit")
    first_tree: int = param(
        0, Integer(0), "number of the first tree, to grow a part of a forest (see merge)"
    )

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group_sizes: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Grow the trees.

        Ctrl-C ends the training early: a warning is given, and the finished trees are the model.

        Parameters
        ----------
        X : matrix, data frame, or a Dataset (which brings labels and queries)
        y : relevance labels, one per row
        qid : one query id per row, in any order, integers or strings
        group_sizes : documents per query for grouped rows, instead of ``qid``
        sample_weight : weight of each document (see ``weighting``)
        """
        earlier = self._earlier_trees()
        data = self._start_fit(X, y, qid, group_sizes, sample_weight)
        if earlier is not None and earlier.ensemble.n_features != self.n_features_in_:
            raise DataError(
                f"X has {self.n_features_in_} features but the trees to be continued were trained "
                f"on {earlier.ensemble.n_features}"
            )
        seed = self._seed() if earlier is None else int(earlier.seeds[-1])
        self._grow(self._training_examples(data, seed), seed, earlier)
        return self

    def _training_examples(self, data: RankingInput, seed: int) -> RankingInput:
        """Return what trees learn from: the documents."""
        return data

    def _options(self, data: RankingInput) -> dict[str, Any]:
        """Return how splits are chosen: options of the native grower; subclasses add their own."""
        return {
            "splitter": "best",
            "criterion": "squared_error",
            "order": self.node_order,
            "max_features": self._n_candidates(),
            "listwise_levels": 0,
            "min_samples_split": self.min_samples_split,
            "min_samples_leaf": self.min_samples_leaf,
            "max_depth": _or_unlimited(self.max_depth),
            "max_leaf_nodes": _or_unlimited(self.max_leaf_nodes),
            "min_gain": self.min_gain,
            "threshold_fraction": 1.0,
            "query_fraction": 1.0,
        }

    def _prepare(self, native: _native.ForestData, data: RankingInput) -> None:
        """Give the native data what else the splits need."""

    def _grow(self, data: RankingInput, seed: int, earlier: SeededTrees | None) -> None:
        n_threads = resolve_n_jobs(self.n_jobs)
        options = self._options(data)
        native = forest_data(
            data,
            criterion=options["criterion"],
            leaf_score=self.leaf_score,
            max_bins=self.max_bins,
            fill=self.fill_,
            weight=data.weight if self.weighting == "split" else None,
            n_threads=n_threads,
        )
        self._prepare(native, data)
        sample = self._sample(data)
        first = self.first_tree if earlier is None else int(earlier.numbers[-1]) + 1
        n_trees = self.n_estimators - (0 if earlier is None else len(earlier.numbers))
        progress = FitProgress(self, self.n_estimators)
        grown: list[tuple[int, Any]] = []
        with progress_bar(self.ranker_name, self.verbose) as draw:

            def report(n_done: int) -> None:
                progress.iteration = self.n_estimators - n_trees + n_done
                draw(progress)

            try:
                _native.grow_forest(
                    native,
                    grown,
                    seed=seed,
                    first_tree=first,
                    n_trees=n_trees,
                    n_threads=n_threads,
                    progress=report if self.verbose else None,
                    **options,
                    **sample,
                )
            except KeyboardInterrupt:
                if not grown and earlier is None:
                    raise
                warnings.warn(
                    f"training was interrupted: the forest has {len(grown)} of {n_trees} new trees",
                    TrainingInterrupted,
                    stacklevel=3,
                )
        numbers = [number for number, _ in grown]
        trees = [tree for _, tree in grown]
        grown.clear()
        if self.oob_score:
            self._add_out_of_bag(native, trees, numbers, seed, sample, earlier, data)
        new = SeededTrees(
            TreeEnsemble.from_trees(
                trees, self.n_features_in_, value_type=np.float32, n_jobs=n_threads
            ),
            np.full(len(numbers), seed, np.int64),
            np.asarray(numbers, np.int64),
        )
        self._set_trees(new if earlier is None else earlier.followed_by(new))

    def _sample(self, data: RankingInput) -> dict[str, Any]:
        weights = data.weight if self.weighting == "draw" else None
        offsets = filled_offsets(data)
        if self.sampling == "queries" and weights is not None:
            weights = np.add.reduceat(weights, offsets[:-1]) / np.diff(offsets)
        n_units = len(offsets) - 1 if self.sampling == "queries" else data.groups.n_rows
        if weights is not None and self.sampling == "queries":
            n_units = int((weights > 0).sum())
        size = self.subsample
        if isinstance(size, float | np.floating):
            size = max(1, round(float(size) * n_units))
        if self.sampling == "queries":
            size = min(int(size), n_units)
        return {
            "sample_unit": self.sampling,
            "sample_size": int(size),
            "sample_weights": weights,
        }

    def _n_candidates(self) -> int:
        n_features = int(self.n_features_in_)
        k = self.max_features
        if k == "log2":
            return int(math.log2(n_features)) + 1
        if k == "sqrt":
            return max(1, math.isqrt(n_features))
        if k == "all":
            return n_features
        if isinstance(k, float | np.floating):
            return max(1, round(float(k) * n_features))
        return min(int(k), n_features)

    def _add_out_of_bag(
        self,
        native: _native.ForestData,
        trees: list[Any],
        numbers: list[int],
        seed: int,
        sample: dict[str, Any],
        earlier: SeededTrees | None,
        data: RankingInput,
    ) -> None:
        n_rows = data.groups.n_rows
        sums, counts = np.zeros(n_rows), np.zeros(n_rows, np.int32)
        if earlier is not None and len(self.__dict__.get("_oob_sum", ())) == n_rows:
            sums += data.groups.grouped(self.__dict__["_oob_sum"])
            counts += data.groups.grouped(self.__dict__["_oob_count"])
        _native.add_out_of_bag(
            native,
            trees,
            numbers,
            seed=seed,
            sums=sums,
            counts=counts,
            n_threads=resolve_n_jobs(self.n_jobs),
            **sample,
        )
        self._oob_sum = data.groups.restored(sums)
        self._oob_count = data.groups.restored(counts)
        self.oob_score_ = _oob_ndcg(sums, counts, data)

    @property
    def oob_prediction_(self) -> Floats:
        """Mean of the trees whose sample did not hold the document, per training document."""
        self._check_fitted()
        if not hasattr(self, "_oob_sum"):
            raise AttributeError("out-of-bag predictions need fit with oob_score=True")
        with np.errstate(invalid="ignore"):
            prediction: Floats = self._oob_sum / self._oob_count
        return prediction

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf of every document in every tree, as its node number within the tree.

        Returns
        -------
        int32 array of shape (documents, trees)
        """
        matrix = self._prediction_matrix(X).astype(np.float32, copy=False)
        trees = self.ensemble_
        leaves = _native.find_leaves(
            matrix,
            self.fill_,
            trees.tree_offsets,
            trees.feature,
            trees.threshold,
            trees.left,
            trees.missing_left,
            resolve_n_jobs(self.n_jobs),
        )
        return leaves.reshape(len(matrix), trees.n_trees)

    def tree_statistics(self) -> TreeStatistics:
        """Size and score of the leaves of each tree (Ibrahim and Carman, table XII)."""
        self._check_fitted()
        return tree_statistics(self.ensemble_)

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
        n_trees : average over so many trees; None: all

        Returns
        -------
        the mean over queries and trees by number of splits; draw it with
        ``rankgrove.experiments.curves.curves_svg`` or ``plot_curves``
        """
        from rankgrove.rankers.forest_strength import strength_curve

        self._check_fitted()
        data = ranking_input(X, y, qid=qid, group_sizes=group_sizes, what="strength_curve")
        check_columns(data.X.shape[1], None, self.n_features_in_, None)
        return strength_curve(self, data, metric, n_trees)

    def _earlier_trees(self) -> SeededTrees | None:
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        trees = self._trees()
        if self.n_estimators < len(trees.numbers):
            raise ValueError(
                f"parameter n_estimators is {self.n_estimators}, less than the "
                f"{len(trees.numbers)} trees that warm_start keeps"
            )
        return trees

    def _trees(self) -> SeededTrees:
        return SeededTrees(self.ensemble_, self.tree_seeds_, self.tree_numbers_)

    def _set_trees(self, trees: SeededTrees) -> None:
        n_trees = len(trees.numbers)
        self.tree_seeds_ = trees.seeds
        self.tree_numbers_ = trees.numbers
        self.ensemble_ = replace(
            trees.ensemble, tree_weights=np.full(n_trees, 1.0 / max(n_trees, 1))
        )
        self.__dict__.pop("_scorer", None)

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        values, arrays = super()._get_fitted()
        arrays["tree_seeds"] = self.tree_seeds_
        arrays["tree_numbers"] = self.tree_numbers_
        if hasattr(self, "_oob_sum"):
            values["oob_score"] = self.oob_score_
            arrays["oob_sum"] = self._oob_sum
            arrays["oob_count"] = self._oob_count
        return values, arrays

    def _set_fitted(self, values: dict[str, Any], arrays: Arrays) -> None:
        super()._set_fitted(values, arrays)
        self.tree_seeds_ = arrays["tree_seeds"]
        self.tree_numbers_ = arrays["tree_numbers"]
        if "oob_sum" in arrays:
            self.oob_score_ = float(values["oob_score"])
            self._oob_sum = arrays["oob_sum"]
            self._oob_count = arrays["oob_count"]


def _or_unlimited(value: int | None) -> int:
    return UNLIMITED if value is None else min(int(value), UNLIMITED)


def _oob_ndcg(sums: Floats, counts: npt.NDArray[np.int32], data: RankingInput) -> float:
    """NDCG@10 over the queries all of whose documents have an out-of-bag prediction."""
    from rankgrove.metrics.metric import metric

    offsets = filled_offsets(data)
    complete = np.minimum.reduceat(counts, offsets[:-1]) > 0
    if not complete.any():
        return float("nan")
    rows = np.repeat(complete, np.diff(offsets))
    return float(
        metric("ndcg@10")(
            data.y[rows],
            sums[rows] / counts[rows],
            group_sizes=np.diff(offsets)[complete],
        )
    )
