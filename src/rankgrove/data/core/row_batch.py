"""A batch of rows: features, labels and query ids of some documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.dataset import Absent
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.data.matrix.feature_matrix import FeatureMatrix


@dataclass(frozen=True)
class RowBatch:
    """Some rows of a data set that is read or sent batch by batch.

    Attributes
    ----------
    X : the features; their names are ``X.names``, None if nobody gave any
    y, qid, weight : label, query id and weight (None: no weights) of each row
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
    weight: npt.NDArray[np.float64] | None
    absent: Absent | None = None
    source: str = "the data"
    part: int = 0
    first_column: int = 0
    is_text: bool = False
    row_numbers: npt.NDArray[np.int64] | None = None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns; None if nobody gave any."""
        return self.X.names

    def slice_rows(self, begin: int, end: int) -> RowBatch:
        """Return some neighbouring rows."""
        weight = None if self.weight is None else self.weight[begin:end]
        X = self.X.slice_rows(begin, end)
        return replace(self, X=X, y=self.y[begin:end], qid=self.qid[begin:end], weight=weight)

    def select_rows(self, rows: npt.NDArray[np.int64]) -> RowBatch:
        """Return some rows, in the given order."""
        weight = None if self.weight is None else self.weight[rows]
        numbers = None if self.row_numbers is None else self.row_numbers[rows]
        return replace(
            self,
            X=self.X.select_rows(rows),
            y=self.y[rows],
            qid=self.qid[rows],
            weight=weight,
            row_numbers=numbers,
        )

    def without_rows(self) -> RowBatch:
        """Return the batch without its rows, whose memory is freed."""
        weight = None if self.weight is None else self.weight[:0].copy()
        X = DenseMatrix(np.empty((0, self.X.n_columns), np.float32), self.names)
        return replace(self, X=X, y=self.y[:0].copy(), qid=self.qid[:0].copy(), weight=weight)
