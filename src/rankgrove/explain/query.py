"""What carries the top of a query's list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.errors import DataError
from rankgrove.explain.explanation import Effect, Explanation

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RankedDocument:
    """A document of the list: its name, its score, and where the data have it."""

    name: str
    score: float
    row: int


@dataclass(frozen=True, eq=False)
class QueryExplanation:
    """What lifts the first documents of a query above its others.

    A feature's effect is its mean contribution to the first ``top`` documents, minus that to all
    documents of the query. The effects add up to the mean score of the first documents, minus that
    of all.

    Attributes
    ----------
    top : number of documents at the top
    documents : all of the query, best first
    effects : of all features, the largest first; values are means over the first documents
    features : names of the features
    lifts : shape (documents, features): each document's contributions, minus the query's mean
    scale : what scores are (see Explanation)
    """

    top: int
    documents: tuple[RankedDocument, ...]
    effects: tuple[Effect, ...]
    features: tuple[str, ...] = field(repr=False)
    lifts: Floats = field(repr=False)
    scale: str = "score"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "top": self.top,
            "scale": self.scale,
            "documents": [
                {"rank": rank, "document": document.name, "score": document.score}
                for rank, document in enumerate(self.documents, 1)
            ],
            "effects": [vars(effect) for effect in self.effects],
        }


def explain_query(
    explanation: Explanation, rows: npt.NDArray[np.int64], top: int
) -> QueryExplanation:
    """Explain the list of the documents in these rows."""
    if top < 1:
        raise ValueError(f"top must be at least 1, not {top}")
    if len(rows) == 0:
        raise DataError("there are no documents to explain")
    scores = explanation.scores[rows]
    rows = rows[np.argsort(-scores, kind="stable")]
    lifts = explanation.values[rows] - explanation.values[rows].mean(axis=0)
    first = lifts[:top].mean(axis=0)
    data = _means(explanation.data[rows[:top]])
    return QueryExplanation(
        top=min(top, len(rows)),
        documents=tuple(
            RankedDocument(explanation.name_of(row), float(explanation.scores[row]), int(row))
            for row in rows
        ),
        effects=tuple(
            Effect(explanation.features[j], float(data[j]), float(first[j]))
            for j in np.argsort(-np.abs(first), kind="stable")
        ),
        features=explanation.features,
        lifts=lifts,
        scale=explanation.scale,
    )


def _means(data: npt.NDArray[Any]) -> Floats:
    """Mean of each column over the values that are not missing; NaN if all are."""
    known = ~np.isnan(data)
    total = np.where(known, data, 0).sum(axis=0, dtype=np.float64)
    count = known.sum(axis=0)
    means: Floats = np.divide(total, count, out=np.full(data.shape[1], np.nan), where=count > 0)
    return means
