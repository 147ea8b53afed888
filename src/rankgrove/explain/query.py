"""Explanation of a query's list: the features that lift its top documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove._svg import Drawing
from rankgrove.explain.effect import Effect
from rankgrove.explain.pictures import force_by_rank

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RankedDocument:
    """A document of the list: its name, its score, and where the data have it."""

    name: str
    score: float
    row: int


@dataclass(frozen=True, eq=False)
class QueryExplanation:
    """What raises the first documents of a query above its others.

    A feature's effect is its mean contribution to the first ``top`` documents, minus that to all
    documents of the query. The effects add up to the mean score of the first documents, minus that
    of all.

    Attributes
    ----------
    top : number of documents at the top
    documents : all of the query, best first
    effects : of all features, the largest first; values are means over the first documents
        (of categorical features, their most frequent category)
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

    def plot(self, title: str = "effects of the features on the scores") -> Drawing:
        """Draw, for each of the first documents, the features that lift it above the list."""
        documents = [(document.name, document.score) for document in self.documents]
        return force_by_rank(title, documents, self.features, self.lifts)

    def _repr_html_(self) -> str:
        return str(self.plot())

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
