"""The effect of one feature on a score."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effect:
    """What one feature adds to a document's score, and the value it has there."""

    feature: str
    value: float
    effect: float
