"""``predict`` on a cluster: partition by partition, when somebody wants the scores."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.reading.loading import load_documents
from rankgrove.data.reading.options import LoadOptions
from rankgrove.distributed.engine import find_engine
from rankgrove.distributed.parts import path_parts
from rankgrove.errors import DataError, ModelError
from rankgrove.rankers.base.fitted import FittedRanker

if TYPE_CHECKING:
    import pyarrow as pa

SCORE = "score"

Floats = npt.NDArray[np.float64]


def predict(ranker: FittedRanker, data: Any, *, on: Any) -> Any:
    """Score documents where they are: nothing is computed until the result is asked for.

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
    files = path_parts(data)
    if files is not None:
        return engine.predicted_files(Scoring(single), [part.content for part in files])
    predicted = engine.predicted(Scoring(single), data)
    if predicted is None:
        raise DataError(f"predict: give {engine.takes} or paths, not a {type(data).__name__}")
    return predicted


@dataclass(frozen=True)
class Scoring:
    """Scores documents on a worker; ``features`` are the columns of tables to take, if known."""

    ranker: FittedRanker
    features: tuple[str, ...] | None = None

    def of_schema(self, schema: pa.Schema) -> Scoring:
        """Find the model's columns in tables of a schema."""
        from rankgrove.data.reading.arrow import settled_columns

        options = LoadOptions(
            like=Columns.of(self.ranker), unread=frozenset({"label", "query"}), ignore="texts"
        )
        return Scoring(self.ranker, settled_columns(schema, options).features)

    def table(self, table: pa.Table) -> Floats:
        """Return the scores of a table."""
        if table.num_rows == 0:
            return np.empty(0)
        return self.ranker.predict(table.select(list(self.features or table.column_names)))

    def with_scores(self, table: pa.Table) -> pa.Table:
        """Return a table with a column of scores more."""
        import pyarrow as pa

        return table.append_column(SCORE, pa.array(self.table(table)))

    def matrix(self, X: npt.NDArray[Any]) -> Floats:
        """Return the scores of a matrix."""
        return self.ranker.predict(X) if len(X) else np.empty(0)

    def file(self, path: str) -> Floats:
        """Return the scores of a file."""
        documents = load_documents(path, self.ranker, needs_queries=False)
        return self.ranker.predict(documents) if documents.n_rows else np.empty(0)

    def file_table(self, path: str) -> pa.Table:
        """Return the scores of a file as a table of path, row and score."""
        import pyarrow as pa

        scores = self.file(path)
        columns = {"path": [path] * len(scores), "row": np.arange(len(scores)), SCORE: scores}
        return pa.table(columns, schema=file_scores())


def file_scores() -> pa.Schema:
    """Columns of the scores of files."""
    import pyarrow as pa

    return pa.schema({"path": pa.string(), "row": pa.int64(), SCORE: pa.float64()})


def refuse_scores(names: list[str]) -> None:
    """Refuse data that have a column of scores already."""
    if SCORE in names:
        raise DataError(f"predict: the data have a column {SCORE!r} already: rename it")
