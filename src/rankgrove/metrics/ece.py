"""Expected calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._arguments import require_integer
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.matrix.numbers import as_numbers, row_numbers
from rankgrove.errors import DataError
from rankgrove.metrics.arithmetic import relevance_threshold
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.registration import register_metric

Floats = npt.NDArray[np.float64]


@register_metric("ece")
@dataclass(frozen=True, repr=False)
class ExpectedCalibrationError(Metric):
    """Mean distance of probabilities from what they promise (Naeini et al. 2015).

    Scores are probabilities of relevance. They are divided into ``bins`` of equal width; the value
    is the mean over all documents of the distance, in the document's bin, between the mean
    probability and the share of relevant documents. It runs over documents, not over queries: the
    value of a query is its share in the sum, which other queries decide, too.
    """

    greater_is_better: ClassVar[bool] = False
    of_values: ClassVar[bool] = True
    of_scale: ClassVar[bool] = True
    of_probabilities: ClassVar[bool] = True

    bins: int = 10
    relevant_from: float | str = 1.0

    def kernel(self, queries: _native.JudgedQueries) -> CalibrationKernel:
        """Prepare the kernel for judgments."""
        relevant = queries.grouped_labels() >= relevance_threshold(self.relevant_from)
        return CalibrationKernel(queries, relevant.astype(np.float64), self.bins)

    def judged_by(self, queries: _native.JudgedQueries, part: bool = False) -> Any:
        """Return the kernel; refuse a part of the data, whose bins would not be those of all."""
        if part:
            raise DataError("ece needs all documents in one place: measure when the fit is done")
        return super().judged_by(queries)

    def warn_of(self, queries: _native.JudgedQueries) -> None:
        """Do not warn: probabilities can be wrong even if all labels are equal."""

    def mean(self, values: Floats, groups: QueryGroups, weights: Floats | None) -> float:
        """Combine the shares of queries into the mean over all their documents."""
        if weights is not None:
            raise ValueError("ece counts all documents alike: it takes no query_weight")
        return _native.mean_over_queries(values, groups.sizes.astype(np.float64))


class CalibrationKernel:
    """The metric prepared for fixed labels."""

    def __init__(self, queries: _native.JudgedQueries, relevant: Floats, n_bins: int) -> None:
        self.queries = queries
        self.relevant = relevant
        self.n_bins = n_bins

    def values(self, scores: npt.NDArray[Any], groups: QueryGroups) -> Floats:
        """Return the mean of each query's terms; NaN for queries without documents."""
        found = np.asarray(_native.grouped_scores(self.queries, scores), np.float64)
        if len(found) and not (found.min() >= 0 and found.max() <= 1):
            wrong = found[(found < 0) | (found > 1)][0]
            raise DataError(
                f"ece takes probabilities, and a score is {wrong:g}: pass those of predict_proba"
            )
        gaps = found - self.relevant
        bins = bin_of(found, self.n_bins)
        signs = np.sign(np.bincount(bins, gaps, self.n_bins))
        totals = np.bincount(
            np.repeat(np.arange(groups.n_queries), groups.sizes),
            signs[bins] * gaps,
            groups.n_queries,
        )
        result = np.full(groups.n_queries, np.nan)
        filled = groups.sizes > 0
        result[filled] = totals[filled] / groups.sizes[filled]
        return result


def bin_of(probabilities: Floats, n_bins: int) -> npt.NDArray[np.int64]:
    """Return the bin of equal width of each probability; 1 belongs to the last."""
    return np.minimum((probabilities * n_bins).astype(np.int64), n_bins - 1)


def reliability(probabilities: npt.ArrayLike, relevance: npt.ArrayLike, n_bins: int = 10) -> Floats:
    """Return, per bin, the number of documents, their mean probability and mean relevance.

    Parameters
    ----------
    probabilities : of documents to be relevant
    relevance : whether each is relevant, or how much, from 0 to 1
    n_bins : bins of equal width

    Returns
    -------
    float64 array of shape (bins, 3); NaN in bins without documents
    """
    require_integer(n_bins, "n_bins", 1)
    found = as_numbers(probabilities, "probabilities").astype(np.float64)
    if found.ndim != 1 or not ((found >= 0) & (found <= 1)).all():
        raise DataError("probabilities must be a list of numbers between 0 and 1")
    columns = (found, row_numbers(relevance, len(found), "relevance"))
    bins = bin_of(found, n_bins)
    count = np.bincount(bins, minlength=n_bins).astype(np.float64)
    with np.errstate(invalid="ignore"):
        means = [np.bincount(bins, of, n_bins) / count for of in columns]
    return np.stack([count, *means], axis=1)
