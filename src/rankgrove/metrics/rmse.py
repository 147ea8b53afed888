"""Root mean squared error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.queries import QueryGroups
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.registration import register_metric


@register_metric("rmse")
@dataclass(frozen=True, repr=False)
class RMSE(Metric):
    """Root of the mean squared difference of score and label.

    The mean runs over all documents, not over queries; a query's weight is that of each of its
    documents. Labels may be negative.
    """

    greater_is_better: ClassVar[bool] = False
    of_values: ClassVar[bool] = True
    of_scale: ClassVar[bool] = True

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.root_mean_squared_error(queries)

    def warn_of(self, queries: _native.JudgedQueries) -> None:
        """Do not warn: errors differ even if all labels are equal."""

    def mean(
        self,
        values: npt.NDArray[np.float64],
        groups: QueryGroups,
        weights: npt.NDArray[np.float64] | None,
    ) -> float:
        """Combine the errors of queries into the error over all their documents."""
        sizes = groups.sizes.astype(np.float64)
        by_document = sizes if weights is None else sizes * weights
        return math.sqrt(_native.mean_over_queries(values * values, by_document))
