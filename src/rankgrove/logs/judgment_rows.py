"""Rows of judgments, gathered into an Arrow table."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


class JudgmentRows:
    """Judgments one by one; those without a grade are counted and left out."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._queries: list[str] = []
        self._documents: list[str] = []
        self._grades: list[float] = []

    def __len__(self) -> int:
        return len(self._grades)

    def add(self, query: Any, document: Any, grade: Any, place: str) -> None:
        """Add a judgment; ``grade`` is a number or the text of one."""
        if grade is None or grade == "":
            self._counts["judgments without a grade"] += 1
            return
        for value, what in ((query, "query"), (document, "document id")):
            if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
                raise DataError(f"{place}: the {what} is {value!r:.60}, not a text")
        try:
            number = float(grade)
        except (TypeError, ValueError):
            number = math.nan
        if isinstance(grade, bool) or not math.isfinite(number):
            raise DataError(
                f"{place}: the grade {grade!r:.60} of the document {document!r:.60} of the query "
                f"{query!r:.60} is not a number"
            )
        self._queries.append(str(query))
        self._documents.append(str(document))
        self._grades.append(number)

    def table(self) -> pa.Table:
        """Return the rows as a table."""
        import pyarrow as pa

        return pa.table(
            {
                "query": pa.array(self._queries, pa.large_string()),
                "document": pa.array(self._documents, pa.large_string()),
                "grade": pa.array(self._grades, pa.float64()),
            }
        )
