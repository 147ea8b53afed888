"""The model of RF-pair: trees on the differences of two documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.dense import as_matrix
from rankgrove.errors import DataError
from rankgrove.models.model import Arrays, Floats, Matrix, Model, kind
from rankgrove.models.trees import TreesModel

Rows = npt.NDArray[np.int64]

MAX_LIST = 10_000  # longer lists would take hours: time is quadratic
_BLOCK = 1 << 17  # most pairs in memory at once
_BLOCK_VALUES = 1 << 24  # most values of pairs in memory at once


@kind("pairs")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PairsModel(Model):
    """The probability that the first of two documents is the more relevant one.

    A document's score is its mean probability of winning against the other documents of its query,
    each pair asked in both orders; alone in its query it scores one half.

    Attributes
    ----------
    trees : from the difference of two documents' features to the probability that the first wins;
        its fill stands in for missing values before the difference is taken. Of a categorical
        column, a pair has the category of the first document, and none where both have the same
    """

    trees: TreesModel

    @property
    def needs_queries(self) -> bool:
        """True: the score of a document depends on the other documents of its query."""
        return True

    @property
    def constant(self) -> bool:
        """Whether no tree has a split."""
        return self.trees.constant

    @property
    def size(self) -> str:
        """Number of trees."""
        return f"{self.trees.size} on pairs of documents"

    def work(self, n_rows: int, groups: QueryGroups | None = None) -> int:
        """Return the number of pairs."""
        sizes = self.lists(groups).sizes
        return int((sizes * (sizes - 1)).sum())

    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Score the documents of each query against each other."""
        groups = self.lists(groups)
        longest = int(groups.sizes.max(initial=0))
        if longest > MAX_LIST:
            query = groups.ids[int(groups.sizes.argmax())]
            raise DataError(
                f"query {query} has {longest} documents: comparing all pairs of more than "
                f"{MAX_LIST} takes too long, score fewer documents per query"
            )
        # Queries with a single document have no pairs: they are skipped.
        several = np.flatnonzero(np.repeat(groups.sizes > 1, groups.sizes))
        sizes = groups.sizes[groups.sizes > 1]
        rows = several if groups.order is None else groups.order[several]
        in_place = len(rows) == len(X) and groups.order is None
        array = as_matrix(X).to_array("a model of pairs")
        matrix = filled(array if in_place else array[rows], self.trees.fill)
        # Sums of (probability of winning - 1/2), with the document as first and as second.
        as_first, as_second = np.zeros(len(matrix)), np.zeros(len(matrix))
        ensemble = replace(self.trees, fill=None) if self.trees.fill is not None else self.trees
        categorical = sorted(self.columns.categories)
        block = max(1, min(_BLOCK, _BLOCK_VALUES // max(1, matrix.shape[1])))
        for first, second in all_pairs(np.r_[0, np.cumsum(sizes)], block):
            pairs = differences(matrix, first, second, categorical)
            lead = ensemble.scores(pairs, n_jobs=n_jobs) - 0.5
            as_first += np.bincount(first, lead, minlength=len(matrix))
            as_second += np.bincount(second, lead, minlength=len(matrix))
        scores = np.full(len(X), 0.5)
        games = 2.0 * np.repeat(sizes - 1, sizes)
        scores[rows] += (as_first - as_second) / games
        return scores

    def importances(self, kind: str) -> Floats:
        """Return the sum of gains, or the number of splits, per feature of the differences."""
        return self.trees.importances(kind)

    def with_columns(self, columns: Columns) -> PairsModel:
        """Return the model for data with these columns."""
        return replace(self, columns=columns, trees=self.trees.with_columns(columns))

    def get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state of the trees."""
        return self.trees.get_state()

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, columns: Columns) -> PairsModel:
        """Build the model."""
        return cls(columns=columns, trees=TreesModel.from_state(values, arrays, columns))


def filled(X: npt.NDArray[Any], fill: npt.NDArray[np.float32] | None) -> npt.NDArray[np.float32]:
    """Return the matrix in float32, with the fill in place of NaN."""
    with np.errstate(over="ignore"):
        matrix = X.astype(np.float32, copy=False)
    return matrix if fill is None else np.where(np.isnan(matrix), fill, matrix)


def differences(
    X: npt.NDArray[np.float32],
    first: npt.NDArray[Any],
    second: npt.NDArray[Any],
    categorical: Sequence[int] = (),
) -> npt.NDArray[np.float32]:
    """Return the feature differences of pairs of documents.

    Of a categorical column, a pair has the code of the first document; NaN if both have the same.
    """
    # infinity minus infinity is NaN: a missing value; differences may be beyond float32: infinite
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.asarray(X[first] - X[second], np.float32)
    for column in categorical:
        code = X[first, column]
        result[:, column] = np.where(code == X[second, column], np.float32(np.nan), code)
    return result


def all_pairs(offsets: Rows, block: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield all ordered pairs of different documents of each query, in blocks."""
    sizes = np.diff(offsets)
    opponents = np.repeat(sizes, sizes)
    start = np.repeat(offsets[:-1], sizes)
    ends = np.cumsum(opponents)
    row = 0
    while row < len(opponents):
        done = ends[row] - opponents[row]
        stop = max(row + 1, int(np.searchsorted(ends, done + block, side="right")))
        first = np.repeat(np.arange(row, stop), opponents[row:stop])
        place = np.arange(len(first)) - np.repeat(
            ends[row:stop] - opponents[row:stop] - done, opponents[row:stop]
        )
        second = np.repeat(start[row:stop], opponents[row:stop]) + place
        different = first != second
        yield first[different], second[different]
        row = stop
