"""Permutation importance: how much a metric loses when one column is shuffled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.models.model import Model


def permutation_importances(
    model: Model,
    data: RankingInput,
    metric: Any,
    n_repeats: int,
    random_state: Any,
    n_jobs: int | None,
    doc_ids: Any = None,
) -> npt.NDArray[np.float64]:
    """Mean loss of the metric over ``n_repeats`` shuffles of each column over all rows."""
    from rankgrove.metrics.parsing import metric as as_metric

    measure = as_metric(metric)
    labels = data.groups.restored(data.y)
    doc_ids = doc_ids if measure.ranks_by_doc_id else None
    evaluate = measure.prepare(labels, data.groups, doc_ids=doc_ids, n_jobs=n_jobs)
    sign = 1.0 if measure.greater_is_better else -1.0
    rng = np.random.default_rng(random_state)
    intact_matrix = data.X.to_array("permutation importance")
    matrix = intact_matrix.copy()

    def quality() -> float:
        return sign * evaluate(model.scores(matrix, data.groups, n_jobs))

    intact = quality()
    result = np.zeros(matrix.shape[1])
    for feature in range(matrix.shape[1]):
        for _ in range(n_repeats):
            matrix[:, feature] = rng.permutation(matrix[:, feature])
            result[feature] += (intact - quality()) / n_repeats
        matrix[:, feature] = intact_matrix[:, feature]
    return result
