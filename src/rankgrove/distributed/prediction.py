"""``predict`` on a cluster: lazy, partition by partition."""

from __future__ import annotations

from copy import copy
from typing import Any

from rankgrove.distributed.engines import find_engine
from rankgrove.distributed.partition_scorer import PartitionScorer
from rankgrove.distributed.partitions import path_partitions
from rankgrove.errors import DataError, ModelError
from rankgrove.rankers.base.fitted import FittedRanker


def predict(ranker: FittedRanker, data: Any, *, on: Any) -> Any:
    """Score documents where they are stored, lazily: computing the result runs the scoring.

    Parameters
    ----------
    ranker : a fitted ranker whose scores do not depend on other documents of the query
    data : a dask dataframe or array, a Ray Dataset, a Spark DataFrame, or paths that workers read.
        Columns are matched by name as ``ranker.predict`` does; labels and queries may be there.
    on : a Dask ``Client``, ``"ray"``, or a ``SparkSession``

    Returns
    -------
    A dask Series or array of scores, in the order of the rows; a Ray Dataset or Spark DataFrame
    with a column ``score`` more. For paths, scores in the order of files (a dask array), or rows
    with the columns ``path``, ``row`` and ``score``.
    """
    model = ranker.fitted_model()
    if model.needs_queries:
        raise ModelError(
            f"{type(ranker).__name__}: scores depend on all documents of a query, which partitions "
            "may cut: predict on one machine"
        )
    single = copy(ranker)
    single.set_params(n_jobs=1)  # the engine runs tasks side by side
    engine = find_engine(on)
    files = path_partitions(data)
    if files is not None:
        return engine.predict_files(PartitionScorer(single), [part.content for part in files])
    predicted = engine.predict(PartitionScorer(single), data)
    if predicted is None:
        raise DataError(f"predict: give {engine.accepts} or paths, not a {type(data).__name__}")
    return predicted
