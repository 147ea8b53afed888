"""Comparison of two documents: why one ranks above the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """What one feature adds to the difference of two scores.

    Attributes
    ----------
    feature : its name
    first, second : its values in the two documents
    effect : its contribution to the first document's score, minus that to the second's
    """

    feature: str
    first: float
    second: float
    effect: float


@dataclass(frozen=True)
class DocumentComparison:
    """Two documents with the effects that separate their scores.

    The effects of ``differences`` add up to ``first_score - second_score``.

    Attributes
    ----------
    first, second : names of the documents
    first_score, second_score : their scores
    scale : what the scores are (see Explanation)
    differences : of all features, the largest effects first
    """

    first: str
    second: str
    first_score: float
    second_score: float
    scale: str
    differences: tuple[Difference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "first": {"document": self.first, "score": self.first_score},
            "second": {"document": self.second, "score": self.second_score},
            "scale": self.scale,
            "differences": [vars(difference) for difference in self.differences],
        }
