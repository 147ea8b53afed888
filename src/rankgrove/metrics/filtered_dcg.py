"""DCG of the documents with a score of at least 0, in the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.queries import QueryGroups
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.registration import register_metric

Floats = npt.NDArray[np.float64]


class _FilteredSums:
    """Sums of label / position over the documents of each query that stay."""

    def __init__(self, queries: _native.JudgedQueries) -> None:
        self.queries = queries
        self.labels = queries.grouped_labels()

    def values(self, scores: npt.NDArray[Any], groups: QueryGroups) -> Floats:
        """Return the sum of each query; NaN for one without documents."""
        stays = _native.grouped_scores(self.queries, scores) >= 0
        before = np.r_[0, np.cumsum(stays)]
        position = before[1:] - np.repeat(before[groups.offsets[:-1]], groups.sizes)
        query = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
        gains = self.labels[stays] / position[stays]
        sums = np.bincount(query[stays], weights=gains, minlength=len(groups.sizes))
        return np.where(groups.sizes > 0, sums, np.nan)


@register_metric("filtered-dcg", "filtereddcg")
@dataclass(frozen=True, repr=False)
class FilteredDCG(Metric):
    """Sum of label / position over the documents with a score of at least 0.

    CatBoost's FilteredDCG, which measures ``StochasticFilter``: scores only decide which documents
    stay. These keep the order of the rows, which no other metric reads. Labels may be negative.
    """

    of_values: ClassVar[bool] = True

    def kernel(self, queries: _native.JudgedQueries) -> _FilteredSums:
        """Prepare the metric for judgments."""
        return _FilteredSums(queries)

    def warn_of(self, queries: _native.JudgedQueries) -> None:
        """Do not warn: it matters who stays even if all labels are equal."""
