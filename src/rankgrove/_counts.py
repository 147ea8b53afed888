"""Counts with nouns, for messages."""

from __future__ import annotations


def counted(number: int, noun: str, *, spec: str = ",") -> str:
    """Return a number with its noun, in the singular or the plural: 1 query, 1,200 queries."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:{spec}} {plural}"
