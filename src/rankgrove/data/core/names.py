"""Names of columns: duplicates, names that only number, and one list matched with another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class NameMatch(NamedTuple):
    """The result of matching a list of names with the wanted names.

    Attributes
    ----------
    places : where each wanted name stands in the list, in the order wanted; None if it lacks
    lacking : wanted names that the list does not have
    extra : names of the list that are not wanted
    """

    places: list[int | None]
    lacking: list[str]
    extra: list[str]

    def found(self) -> list[int]:
        """Return the positions of all names; none may be missing."""
        return [place for place in self.places if place is not None]


def match_names(wanted: Sequence[str], names: Sequence[str]) -> NameMatch:
    """Find each wanted name in a list of distinct names."""
    place = {name: j for j, name in enumerate(names)}
    known = set(wanted)
    return NameMatch(
        [place.get(name) for name in wanted],
        [name for name in wanted if name not in place],
        [name for name in names if name not in known],
    )


def first_duplicate(names: Sequence[str]) -> str | None:
    """Return the first name that occurs a second time; None if all are different."""
    seen: set[str] = set()
    if len(set(names)) == len(names):
        return None
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def unused_name(name: str, taken: Sequence[str]) -> str:
    """Return a name that is not taken: the given one, or it with a number."""
    number, wanted = 1, name
    while wanted in taken:
        number, wanted = number + 1, f"{name} {number + 1}"
    return wanted


def numbering(names: Sequence[str]) -> tuple[str, int] | None:
    """Return prefix and first number of names that only number columns; None for real names."""
    for prefix in ("f", ""):
        for first in (0, 1):
            if names and all(name == f"{prefix}{first + i}" for i, name in enumerate(names)):
                return prefix, first
    return None


def first_number(names: Sequence[str]) -> int | None:
    """Return the number of the first feature if names are f0, f1, ... or f1, f2, ..., else None."""
    prefix, first = numbering(names) or ("f" if not names else None, 0)
    return first if prefix == "f" else None


def default_feature_names(n_features: int, first: int = 1) -> tuple[str, ...]:
    """Return names that only number features (f1, f2, ...), as LETOR text counts."""
    return tuple(f"f{number}" for number in range(first, first + n_features))
