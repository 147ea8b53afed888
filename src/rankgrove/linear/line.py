"""Line search of a metric: its values at many steps along a direction of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._threads import resolve_n_jobs
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.metrics.judgments import Listing, judged_queries
from rankgrove.metrics.metric import Metric

if TYPE_CHECKING:
    from rankgrove.metrics.metric import Kernel

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LineMetric:
    """A metric on the training data, in grouped order: higher is better.

    Documents of equal score count by the mean over all their orders, not by the order of the data,
    which may well be that of the labels (a metric with another rule for ties keeps it, and a metric
    that is a Python function sees them in an order that was drawn once, the same for every fit).

    Native metrics are measured step by step on rankings that are kept in order; metrics that are
    Python functions are asked for each step.

    Attributes
    ----------
    query_weight : weight of each query in the mean (that of its documents), or None
    """

    metric: Metric
    kernel: Kernel
    groups: QueryGroups
    query_weight: Floats | None
    n_threads: int

    @classmethod
    def of(cls, metric: Metric, data: RankingInput, n_jobs: int | None) -> LineMetric:
        """Prepare a metric for the training data."""
        if metric.params.get("ties") == "input":
            metric = metric.replace(ties="average")
        groups = QueryGroups(data.groups.offsets, None, data.groups.ids)
        listing: Listing = "doc_id" if metric.ranks_by_doc_id else "input"
        kernel = metric.judged_by(judged_queries(data.y, groups, listing))
        if not isinstance(kernel, _native.QueryMetric):
            groups = _shuffled(groups)
            kernel = metric.judged_by(judged_queries(data.y, groups, listing))
        return cls(metric, kernel, groups, query_weights(data), resolve_n_jobs(n_jobs))

    def query_values(self, scores: Floats, direction: Floats, steps: Floats) -> Floats:
        """Return the metric of each query (columns) for scores + step * direction (rows).

        Queries that the metric leaves out are NaN.
        """
        if isinstance(self.kernel, _native.QueryMetric):
            values = _native.line_values(self.kernel, scores, direction, steps, self.n_threads)
            return values.reshape(len(steps), self.groups.n_queries)
        return np.array(
            [self.kernel.values(scores + step * direction, self.groups) for step in steps]
        )

    def values(self, scores: Floats, direction: Floats, steps: Floats) -> Floats:
        """Return the mean over queries for each step, turned so that higher is better."""
        sign = 1.0 if self.metric.greater_is_better else -1.0
        by_query = self.query_values(scores, direction, steps)
        means = [self.metric.mean(values, self.groups, self.query_weight) for values in by_query]
        return np.asarray(sign * np.nan_to_num(np.array(means)))


def _shuffled(groups: QueryGroups) -> QueryGroups:
    """Return the same queries with their documents in a random order, independent of labels."""
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    drawn = np.random.default_rng(0).random(groups.n_rows)
    return QueryGroups(groups.offsets, np.lexsort((drawn, query)), groups.ids)


def query_weights(data: RankingInput) -> Floats | None:
    """Return the weight of each query, the mean of its documents'; None if all count the same."""
    if data.weight is None:
        return None
    sums = np.bincount(
        np.repeat(np.arange(data.groups.n_queries), data.groups.sizes),
        data.weight,
        minlength=data.groups.n_queries,
    )
    return np.asarray(sums / np.maximum(data.groups.sizes, 1))
