"""Scoring of one partition (a table, a matrix or a file) on a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import printable
from rankgrove.data.core.columns import Columns
from rankgrove.data.reading.loading import load_documents
from rankgrove.data.reading.options import LoadOptions
from rankgrove.errors import DataError
from rankgrove.rankers.base.fitted import FittedRanker

if TYPE_CHECKING:
    import pyarrow as pa

SCORE = "score"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PartitionScorer:
    """Scores partitions; ``features`` are the columns to take from tables, if they are known."""

    ranker: FittedRanker
    features: tuple[str, ...] | None = None

    def of_schema(self, schema: pa.Schema) -> PartitionScorer:
        """Return a scorer that knows the model's columns in tables of a schema."""
        from rankgrove.data.reading.arrow import resolve_columns

        options = LoadOptions(
            like=Columns.of(self.ranker), unread=frozenset({"label", "query"}), ignore="texts"
        )
        return PartitionScorer(self.ranker, resolve_columns(schema, options).features)

    def table(self, table: pa.Table) -> Floats:
        """Return the scores of a table."""
        if table.num_rows == 0:
            return np.empty(0)
        return self.ranker.predict(table.select(list(self.features or table.column_names)))

    def with_scores(self, table: pa.Table) -> pa.Table:
        """Return the table with a column of scores appended."""
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
        columns = {
            "path": [printable(path)] * len(scores),
            "row": np.arange(len(scores)),
            SCORE: scores,
        }
        return pa.table(columns, schema=file_scores())


def file_scores() -> pa.Schema:
    """Return the schema of the scores of files."""
    import pyarrow as pa

    return pa.schema({"path": pa.string(), "row": pa.int64(), SCORE: pa.float64()})


def refuse_scores(names: list[str]) -> None:
    """Refuse data that have a column of the name of the scores already."""
    if SCORE in names:
        raise DataError(f"predict: the data have a column {SCORE!r} already: rename it")
