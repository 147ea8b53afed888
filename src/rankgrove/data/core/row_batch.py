"""A batch of rows: features, labels and query ids of some documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.dataset import Absent
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix

# Values of rows that some data have and others lack, and how messages call them.
OPTIONAL_SIDES = {"weight": "sample weights", "position": "positions", "propensity": "propensities"}


@dataclass(frozen=True)
class RowBatch:
    """Some rows of a data set that is read or sent batch by batch.

    Attributes
    ----------
    X : the features; their names are ``X.names``, None if nobody gave any
    y, qid : label and query id of each row
    weight, position, propensity : of each row, or None (``OPTIONAL_SIDES``)
    absent : how features absent from text were read
    source : where the rows came from, for messages
    part : number of the file
    first_column : number of the first column: text counts features from 0 or 1
    is_text : whether later batches may have more columns
    row_numbers : number of each row in the whole data set, where it is needed
    """

    X: FeatureMatrix
    y: npt.NDArray[np.float64]
    qid: npt.NDArray[Any]
    weight: npt.NDArray[np.float64] | None = None
    absent: Absent | None = None
    source: str = "the data"
    part: int = 0
    first_column: int = 0
    is_text: bool = False
    row_numbers: npt.NDArray[np.int64] | None = None
    position: npt.NDArray[np.int64] | None = None
    propensity: npt.NDArray[np.float64] | None = None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns; None if nobody gave any."""
        return self.X.names

    @property
    def sides(self) -> dict[str, npt.NDArray[Any]]:
        """Weights, positions and propensities, of those that there are, by name."""
        found = {name: getattr(self, name) for name in OPTIONAL_SIDES}
        return {name: values for name, values in found.items() if values is not None}

    def slice_rows(self, begin: int, end: int) -> RowBatch:
        """Return some neighbouring rows."""
        return self._with_rows(self.X.slice_rows(begin, end), lambda side: side[begin:end])

    def select_rows(self, rows: npt.NDArray[np.int64]) -> RowBatch:
        """Return some rows, in the given order."""
        return self._with_rows(self.X.select_rows(rows), lambda side: side[rows])

    def without_rows(self) -> RowBatch:
        """Return the batch without its rows, whose memory is freed."""
        X = DenseMatrix(np.empty((0, self.X.n_columns), np.float32), self.names)
        return self._with_rows(X, lambda side: side[:0].copy())

    def _with_rows(
        self, X: FeatureMatrix, choose: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    ) -> RowBatch:
        """Return the batch with other rows, whose sides ``choose`` selects."""
        numbers = {} if self.row_numbers is None else {"row_numbers": self.row_numbers}
        sides = {"y": self.y, "qid": self.qid, **self.sides, **numbers}
        chosen: dict[str, Any] = {name: choose(side) for name, side in sides.items()}
        return replace(self, X=X, **chosen)
