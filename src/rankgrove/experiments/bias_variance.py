"""Bias and variance of a ranker over training samples, by any metric.

Models of several training samples rank the same test documents. Their *mean ranking* orders the
documents of a query by the mean of their ranks in the single rankings (metrics of the values of
scores, such as RMSE, and functions of scores: by the mean of the scores). With the value of the
metric for the right order (scores equal to the labels), of the mean ranking, and the mean value of
the single rankings::

    loss     = |right order - single rankings|   what a model lacks
    bias     = |right order - mean ranking|      what it lacks whatever the sample was
    variance = loss - bias                       what it lacks because of the sample it got

as Domingos ("A Unified Bias-Variance Decomposition", 2000) divides any loss by a main prediction.
For NDCG a negative variance says that the mean ranking is worse than the single ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.experiments.queries import TestQueries
from rankgrove.metrics.metric import Metric

Floats = npt.NDArray[np.float64]

PARTS = ("loss", "bias", "variance")


@dataclass(frozen=True)
class BiasVariance:
    """Loss, bias and variance on the test part of a fold.

    Attributes
    ----------
    values : means over the queries, in the order of ``PARTS``
    per_query : the same query by query, (3, n_queries); NaN where the metric skips a query
    """

    values: Floats
    per_query: Floats


def bias_variance(metric: Metric, queries: TestQueries, scores: Floats) -> BiasVariance:
    """Divide the loss of models on one test part.

    Parameters
    ----------
    scores : of the test documents in grouped order, (n_samples, n_documents)
    """
    groups = QueryGroups.from_sizes(np.diff(queries.offsets))
    ids: Any = queries.doc_ids if metric.ranks_by_doc_id and len(queries.doc_ids) else None
    measure = metric.prepare(queries.labels, groups, doc_ids=ids, n_jobs=1)
    main = scores.mean(axis=0) if metric.of_values else _mean_ranks(scores, groups)
    right, mean = (measure.per_query(given) for given in (queries.labels, main))
    single = [measure.per_query(row) for row in scores]
    by_query = _divided(metric, right, mean, np.mean(single, axis=0))
    values = _divided(
        metric,
        np.array(measure.mean(right)),
        np.array(measure.mean(mean)),
        np.mean([measure.mean(values) for values in single]),
    )
    return BiasVariance(values, by_query)


def pooled(metric: Metric, folds: Sequence[BiasVariance]) -> BiasVariance:
    """Return the division over the queries of all folds; of folds for metrics of all documents."""
    by_query = np.concatenate([fold.per_query for fold in folds], axis=1)
    if type(metric).mean is not Metric.mean or np.isnan(by_query).all():
        return BiasVariance(np.mean([fold.values for fold in folds], axis=0), by_query)
    return BiasVariance(np.nanmean(by_query, axis=1), by_query)


def _divided(metric: Metric, right: Floats, mean: Floats, single: Any) -> Floats:
    sign = 1 if metric.greater_is_better else -1
    loss, bias = sign * (right - single), sign * (right - mean)
    return np.stack([loss, bias, loss - bias])


def _mean_ranks(scores: Floats, groups: QueryGroups) -> Floats:
    """Return each document's rank in its query, from below, averaged over rows; ties share one."""
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    total = np.zeros(scores.shape[1])
    for row in scores:
        order = np.lexsort((row, query))
        sorted_scores, sorted_query = row[order], query[order]
        begins = np.r_[
            True, (np.diff(sorted_scores) != 0) | (np.diff(sorted_query) != 0)
        ]  # of blocks of equal scores
        starts = np.flatnonzero(begins)
        middles = (starts + np.r_[starts[1:], len(row)] - 1) / 2
        total[order] += middles[np.cumsum(begins) - 1]
    return total / len(scores)
