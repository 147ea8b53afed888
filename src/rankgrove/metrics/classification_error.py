"""Classification error of scores as grades, and the bound that it sets to the error of ERR."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.queries import QueryGroups
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.registration import register_metric

Floats = npt.NDArray[np.float64]


class _ErrorCounts:
    """Numbers of documents per query whose rounded score is not their label, as a metric."""

    def __init__(self, queries: _native.JudgedQueries, bound: float | None) -> None:
        self.queries = queries
        self.labels = queries.grouped_labels()
        self.bound = bound

    def values(self, scores: npt.NDArray[Any], groups: QueryGroups) -> Floats:
        """Return the share of errors of each query, or the bound that their number sets."""
        rounded = np.floor(_native.grouped_scores(self.queries, scores) + 0.5)
        wrong = np.r_[0, np.cumsum(rounded != self.labels)]
        errors = np.diff(wrong[groups.offsets]).astype(np.float64)
        if self.bound is not None:
            return np.asarray(np.where(groups.sizes > 0, self.bound * np.sqrt(errors), np.nan))
        empty = np.full(len(errors), np.nan)
        return np.asarray(np.divide(errors, groups.sizes, out=empty, where=groups.sizes > 0))


@register_metric("class-error")
@dataclass(frozen=True, repr=False)
class ClassificationError(Metric):
    """Share of the documents whose score, rounded to a whole number, is not the label.

    The mean runs over all documents, not over queries; a query's weight is that of each of its
    documents. Labels may be negative.
    """

    greater_is_better: ClassVar[bool] = False
    of_values: ClassVar[bool] = True
    of_scale: ClassVar[bool] = True

    def kernel(self, queries: _native.JudgedQueries) -> _ErrorCounts:
        """Prepare the metric for judgments."""
        return _ErrorCounts(queries, None)

    def warn_of(self, queries: _native.JudgedQueries) -> None:
        """Do not warn: errors differ even if all labels are equal."""

    def mean(self, values: Floats, groups: QueryGroups, weights: Floats | None) -> float:
        """Combine the shares of queries into the share over all their documents."""
        sizes = groups.sizes.astype(np.float64)
        return _native.mean_over_queries(values, sizes if weights is None else sizes * weights)


@register_metric("err-bound")
@dataclass(frozen=True, repr=False)
class ERRBound(Metric):
    r"""Upper bound of the loss of ERR by classification errors (Mohan et al. 2011, theorem 1).

    A ranker that sorts documents by predicted grades, of which n are wrong, has an ERR that is less
    than the best by at most :math:`\frac{2^m - 1}{2^m} \frac{\pi}{\sqrt 6} \sqrt n`, where m is
    ``max_grade`` (4 in the paper, hence 15/16). Scores are rounded to whole numbers. The bound is
    loose: it says how the two errors are related, not how large the loss is.
    """

    greater_is_better: ClassVar[bool] = False
    of_values: ClassVar[bool] = True
    of_scale: ClassVar[bool] = True

    max_grade: float = 4.0

    def kernel(self, queries: _native.JudgedQueries) -> _ErrorCounts:
        """Prepare the metric for judgments."""
        highest = 1.0 - 2.0**-self.max_grade
        return _ErrorCounts(queries, highest * math.pi / math.sqrt(6.0))

    def warn_of(self, queries: _native.JudgedQueries) -> None:
        """Do not warn: errors differ even if all labels are equal."""
