"""Checks of the numbers that functions take: an error names the argument and its value."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any


def require_integer(value: Any, name: str, least: int | None = None) -> None:
    """Raise a ValueError unless the value is a whole number, of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, not {value!r:.60}")
    if least is not None and int(value) < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")


def require_number(value: Any, name: str, words: str, accepts: Callable[[Any], bool]) -> None:
    """Raise a ValueError unless the value is a real number of a kind that ``words`` describe."""
    if not isinstance(value, Real) or isinstance(value, bool) or not accepts(value):
        raise ValueError(f"{name} must be {words}, not {value!r:.60}")
