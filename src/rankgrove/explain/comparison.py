"""Comparison of two documents: why one ranks above the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankgrove._svg import Drawing
from rankgrove.explain.pictures import value_text, waterfall


@dataclass(frozen=True)
class Difference:
    """What one feature adds to the difference of two scores.

    Attributes
    ----------
    feature : its name
    first, second : its values in the two documents (categories by name, None if missing)
    effect : its contribution to the first document's score, minus that to the second's
    """

    feature: str
    first: float | str | None
    second: float | str | None
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

    @property
    def title(self) -> str:
        """Title that names the higher and the lower document."""
        word = "ranks above" if self.first_score > self.second_score else "ranks below"
        if self.first_score == self.second_score:
            word = "has the same score as"
        return (
            f"{self.first} ({self.first_score:.4f}) {word} {self.second} ({self.second_score:.4f})"
        )

    def plot(self, title: str | None = None) -> Drawing:
        """Draw how the effects lead from the second document's score to the first's."""
        effects = [
            (f"{d.feature}: {value_text(d.first)} against {value_text(d.second)}", d.effect)
            for d in self.differences
        ]
        start, end = (self.second, self.second_score), (self.first, self.first_score)
        return waterfall(self.title if title is None else title, start, effects, end)

    def __str__(self) -> str:
        lines = [
            f"  {d.feature}: {value_text(d.first)} against {value_text(d.second)}, {d.effect:+.4f}"
            for d in self.differences
        ]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        return str(self.plot())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "first": {"document": self.first, "score": self.first_score},
            "second": {"document": self.second, "score": self.second_score},
            "scale": self.scale,
            "differences": [vars(difference) for difference in self.differences],
        }
