"""Checked input of a fit or an evaluation: features, and labels in grouped order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Absent
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.feature_matrix import FeatureMatrix


@dataclass(frozen=True)
class RankingInput:
    """Checked data of one fit or one evaluation.

    Attributes
    ----------
    X : the features, in the caller's row order
    y : float64 labels in grouped order
    groups : the queries; ``groups.order`` are the rows of X in grouped order
    weight : float64 document weights in grouped order, or None
    columns : the columns of X
    absent : how features absent from text were read, None if the data are not from text
    n_given : rows that the caller gave
    counting : the caller's rows that X holds, if some were left out because their weight is 0
    position : where each document was shown, from 1, in grouped order, or None
    propensity : probability that each document was examined, in grouped order, or None
    """

    X: FeatureMatrix
    y: npt.NDArray[np.float64]
    groups: QueryGroups
    weight: npt.NDArray[np.float64] | None
    columns: Columns
    absent: Absent | None = None
    n_given: int = 0
    counting: npt.NDArray[np.int64] | None = None
    position: npt.NDArray[np.int64] | None = None
    propensity: npt.NDArray[np.float64] | None = None

    def restored(self, values: npt.NDArray[Any], missing: float = np.nan) -> npt.NDArray[Any]:
        """Bring values from grouped order to the caller's rows; those left out get ``missing``.

        In a sample that holds a row twice, its last value counts.
        """
        own, order = values, self.groups.order
        if order is not None:
            own = np.full((len(self.X), *values.shape[1:]), missing, values.dtype)
            own[order] = values
        if self.counting is None:
            return own
        result = np.full((self.n_given, *own.shape[1:]), missing, own.dtype)
        result[self.counting] = own
        return result

    @property
    def filled_offsets(self) -> npt.NDArray[np.int64]:
        """Offsets of the queries that have documents."""
        filled = np.flatnonzero(self.groups.sizes)
        offsets: npt.NDArray[np.int64] = self.groups.offsets[np.r_[filled, self.groups.n_queries]]
        return np.ascontiguousarray(offsets)

    @property
    def filled_ids(self) -> npt.NDArray[Any]:
        """Ids of the queries that have documents."""
        ids: npt.NDArray[Any] = self.groups.ids[np.flatnonzero(self.groups.sizes)]
        return ids
