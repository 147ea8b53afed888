"""Permutation importance: how much a metric loses when one column is shuffled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.rankers.inputs import ranking_input

if TYPE_CHECKING:
    from rankgrove.rankers.base import BaseRanker


def permutation_importances(
    ranker: BaseRanker,
    X: Any,
    y: Any,
    qid: Any,
    group_sizes: Any,
    metric: Any,
    n_repeats: int,
    random_state: Any,
) -> npt.NDArray[np.float64]:
    """Mean loss of the metric over ``n_repeats`` shuffles of each column over all rows."""
    from rankgrove.metrics.metric import metric as as_metric

    if X is None:
        raise ValueError("permutation importances need data: pass X, y and qid, or a Dataset")
    data = ranking_input(X, y, qid=qid, group_sizes=group_sizes, what="permutation importances")
    measure = as_metric(metric)
    labels = data.groups.restored(data.y)
    evaluate = measure.prepare(labels, data.groups, n_jobs=ranker.n_jobs)
    sign = 1.0 if measure.greater_is_better else -1.0
    rng = np.random.default_rng(random_state)
    matrix = data.X.copy()

    def quality() -> float:
        return sign * evaluate(ranker._list_scores(matrix, data.groups))

    intact = quality()
    result = np.zeros(matrix.shape[1])
    for feature in range(matrix.shape[1]):
        for _ in range(n_repeats):
            matrix[:, feature] = rng.permutation(matrix[:, feature])
            result[feature] += (intact - quality()) / n_repeats
        matrix[:, feature] = data.X[:, feature]
    return result
