"""Convergence: a metric by the number of trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import refuse_other_reading
from rankgrove.data.core.dataset import Dataset
from rankgrove.metrics.parsing import metric as as_metric


@dataclass(frozen=True)
class Convergence:
    """Values of a metric after growing numbers of steps (boosting iterations, or trees).

    Attributes
    ----------
    per_query : (n_steps, n_queries); NaN where the metric skips a query
    """

    steps: list[int]
    values: list[float]
    per_query: npt.NDArray[np.float64]


def convergence(
    ranker: Any, data: Dataset, metric: Any = "ndcg@10", *, n_points: int | None = 60
) -> Convergence:
    """Measure a fitted ranker on data after some of its steps.

    With dropout (``drop_rate``), trees have their final weights at every point.

    Parameters
    ----------
    ranker : a fitted ranker whose model was built in steps (``model_.n_steps``)
    data : documents to rank
    metric : what to measure
    n_points : number of points of the curve at most, denser at its beginning; None: every step
    """
    measure = as_metric(metric)
    doc_ids = data.doc_ids if measure.ranks_by_doc_id else None
    prepared = measure.prepare(data.y, data.groups, doc_ids=doc_ids, n_jobs=ranker.n_jobs)
    model = ranker.model_
    refuse_other_reading(data, model.absent, "convergence")
    steps = spread_steps(model.n_steps, n_points)
    matrix = model.columns.match(data, owner=type(ranker).__name__)
    stages = model.stages(matrix, data.groups, steps=steps, n_jobs=ranker.n_jobs)
    per_query = [prepared.per_query(scores) for scores in stages]
    return Convergence(
        steps,
        [prepared.mean(values) for values in per_query],
        np.array(per_query).reshape(len(steps), data.n_queries),
    )


def spread_steps(n_steps: int, n_points: int | None) -> list[int]:
    """Return integers from 1 to n_steps with growing gaps; all of them if ``n_points`` is None."""
    if n_points is None:
        return list(range(1, n_steps + 1))
    points = 1 + (n_steps - 1) * np.linspace(0, 1, n_points) ** 2
    return sorted({round(point) for point in points.tolist()}) if n_steps else []
