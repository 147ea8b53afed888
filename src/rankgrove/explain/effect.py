"""The effect of one feature on a score."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effect:
    """What one feature adds to a document's score, and the value it has there.

    The value of a categorical feature is the name of its category, None if it is missing.
    """

    feature: str
    value: float | str | None
    effect: float
