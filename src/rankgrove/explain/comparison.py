"""Why one document stands above another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankgrove.explain.explanation import Explanation


@dataclass(frozen=True)
class Difference:
    """What one feature adds to the distance of two documents.

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
class Comparison:
    """Two documents side by side.

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


def compare(explanation: Explanation, first: int, second: int) -> Comparison:
    """Compare two documents of an explanation, by their rows."""
    values, data = explanation.values, explanation.data
    effects = values[first] - values[second]
    scores = explanation.scores
    return Comparison(
        first=explanation.name_of(first),
        second=explanation.name_of(second),
        first_score=float(scores[first]),
        second_score=float(scores[second]),
        scale=explanation.scale,
        differences=tuple(
            Difference(
                explanation.features[j],
                float(data[first, j]),
                float(data[second, j]),
                float(effects[j]),
            )
            for j in np.argsort(-np.abs(effects), kind="stable")
        ),
    )
