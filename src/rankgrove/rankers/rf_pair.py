"""RF-pair: a random forest that tells which of two documents is the more relevant one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove.data.features import is_dataset
from rankgrove.data.queries import QueryGroups
from rankgrove.rankers.declaration import param, ranker
from rankgrove.rankers.forest import ForestRanker
from rankgrove.rankers.inputs import RankingInput, query_groups
from rankgrove.rankers.pairs import all_pairs, sample_pairs
from rankgrove.rankers.parameters import Choice, Integer

Floats = npt.NDArray[np.float64]


@ranker
class RFPair(ForestRanker):
    """Pairwise random forest (Ibrahim and Carman 2016, section 4.5).

    Two documents of a query with different labels give one training example: the difference of
    their features, in a random order, and whether the first one is the more relevant. A document's
    score is its mean probability of winning against the other documents of its list (a pair is
    asked in both orders), which also resolves cycles. So scores depend on the list: ``predict``,
    ``rank`` and ``score`` need the queries; without them, ``predict`` takes all rows for one list.
    Scoring a list takes time in proportion to the square of its length.

    ``leaf_score`` and out-of-bag predictions are about pairs, not documents.
    """

    needs_queries: ClassVar[bool] = True

    max_pairs: int = param(
        200, Integer(1), "training pairs per query at most, drawn at random from all it has"
    )
    criterion: str = param("entropy", Choice("entropy", "gini", "squared_error"), "gain of a split")

    def _options(self, data: RankingInput) -> dict[str, Any]:
        return {**super()._options(data), "criterion": self.criterion}

    def _training_examples(self, data: RankingInput, seed: int) -> RankingInput:
        documents = _documents(data)
        counting = np.arange(len(documents))
        if data.weight is not None:
            counting = np.flatnonzero(data.weight > 0)
        offsets = np.searchsorted(counting, data.groups.offsets)
        pairs = sample_pairs(data.y[counting], offsets, self.max_pairs, seed)
        first, second = counting[pairs.first], counting[pairs.second]
        X = self._filled(data.X)
        difference = _differences(X, documents[first], documents[second])
        weight = None
        if data.weight is not None:
            weight = np.sqrt(data.weight[first] * data.weight[second])
        if len(pairs.first) == 0:  # nothing to prefer: one example that says so
            difference, pairs = np.zeros((1, X.shape[1]), np.float32), pairs.single()
            weight = None
        return replace(
            data,
            X=difference,
            y=pairs.first_wins.astype(np.float64),
            groups=QueryGroups.from_sizes(pairs.per_query),
            weight=weight,
        )

    def _filled(self, X: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        matrix = X.astype(np.float32, copy=False)
        return matrix if self.fill_ is None else np.where(np.isnan(matrix), self.fill_, matrix)

    def predict(self, X: Any, qid: Any = None, *, group_sizes: Any = None) -> Floats:
        """Score documents by their mean probability of winning against the others of their list.

        Parameters
        ----------
        X : matrix, data frame or Dataset with the columns of the training data
        qid : one query id per row (a Dataset brings its own); None: all rows are one list
        group_sizes : documents per query, instead of ``qid``
        """
        matrix = self._prediction_matrix(X)
        if qid is not None or group_sizes is not None:
            groups = query_groups(qid, group_sizes, len(matrix), "predict")
        elif is_dataset(X):
            groups = X.groups
        else:
            groups = QueryGroups.from_sizes([len(matrix)])
        return self._list_scores(matrix, groups)

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        return self._list_scores(X, QueryGroups.from_sizes([len(X)]))

    def _list_scores(self, X: npt.NDArray[Any], groups: QueryGroups) -> Floats:
        matrix = self._filled(groups.grouped(X))
        # How far above and below one half the chances of winning are, in either order.
        as_first, as_second = np.zeros(len(matrix)), np.zeros(len(matrix))
        scorer = self._tree_scorer()
        for first, second in all_pairs(groups.offsets):
            lead = scorer.predict(_differences(matrix, first, second), n_jobs=self.n_jobs) - 0.5
            as_first += np.bincount(first, lead, minlength=len(matrix))
            as_second += np.bincount(second, lead, minlength=len(matrix))
        games = 2.0 * np.repeat(groups.sizes - 1, groups.sizes)
        return groups.restored(0.5 + (as_first - as_second) / np.maximum(games, 1.0))


def _documents(data: RankingInput) -> npt.NDArray[np.int64]:
    """Rows of X in grouped order."""
    return np.arange(data.groups.n_rows) if data.groups.order is None else data.groups.order


def _differences(
    X: npt.NDArray[np.float32], first: npt.NDArray[Any], second: npt.NDArray[Any]
) -> npt.NDArray[np.float32]:
    with np.errstate(invalid="ignore"):  # infinity less infinity is unknown: a missing value
        return np.asarray(X[first] - X[second], np.float32)
