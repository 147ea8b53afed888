"""Rankers written as text, ``name:parameter=value,...``, where a ranker is made of others.

``lambdamart``, ``lambdamart:n_estimators=300,tree=oblivious``. A value that holds commas stands in
brackets, and so does a ranker within a ranker: ``bagged:ranker=[rf-list:n_estimators=100]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankgrove.errors import ModelError
from rankgrove.rankers.base.declaration import parameter_table
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.registry import ranker_class


def split_outside_brackets(text: str, separator: str) -> list[str]:
    """Split at separators outside brackets and parentheses; empty parts are dropped."""
    parts, depth, begin = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == separator and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    parts.append(text[begin:])
    return [part for part in parts if part.strip()]


def without_brackets(text: str) -> str:
    """Return the text without surrounding brackets."""
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def read_ranker(text: str) -> BaseRanker:
    """Build the ranker that a text describes."""
    name, _, parameters = (part.strip() for part in without_brackets(text.strip()).partition(":"))
    cls = ranker_class(name)
    known = {entry.name: entry.constraint for entry in parameter_table(cls)}
    values: dict[str, Any] = {}
    for part in split_outside_brackets(parameters, ","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ValueError(f"cannot read {part.strip()!r} in {text!r}: write name=value")
        if key in values:
            raise ValueError(f"{key} is given twice in {text!r}")
        values[key] = _read(value, key, name, known[key]) if key in known else value
    ranker: BaseRanker = cls(**values)
    return ranker


def _read(text: str, key: str, name: str, constraint: Any) -> Any:
    try:
        return constraint.parse(without_brackets(text))
    except ModelError:
        raise
    except ValueError:
        words = constraint.describe()
        raise ValueError(f"parameter {key} of {name} must be {words}, not {text!r}") from None


@dataclass(frozen=True)
class RankerGiven:
    """A parameter that is a ranker: an object, or its text."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is a ranker or a text."""
        return isinstance(value, str | BaseRanker)

    def describe(self) -> str:
        """Say in words what is allowed."""
        return "a ranker, or its text, such as 'lambdamart:n_estimators=300'"

    def parse(self, text: str) -> str:
        """Check the text of a ranker."""
        _check_text(text)
        return text


@dataclass(frozen=True)
class RankersGiven:
    """A parameter that is a list of rankers: objects, or their texts."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is a list of rankers and texts."""
        return isinstance(value, list | tuple) and all(map(RankerGiven().accepts, value))

    def describe(self) -> str:
        """Say in words what is allowed."""
        return (
            "a list of rankers or their texts, such as ['lambdamart', 'rf-list:n_estimators=100'] "
            "(on the command line 'lambdamart;rf-list:n_estimators=100')"
        )

    def parse(self, text: str) -> list[str]:
        """Check the texts of rankers, which semicolons part."""
        texts = [part.strip() for part in split_outside_brackets(text, ";")]
        for part in texts:
            _check_text(part)
        return texts


def _check_text(text: str) -> None:
    """Refuse what is no ranker; callers of ``parse`` pass a ModelError on as it is."""
    try:
        read_ranker(text)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{text!r}: {error}") from None


def made_ranker(value: BaseRanker | str, parameter: str, owner: str, seed: int) -> BaseRanker:
    """Return a new ranker as given, with this seed unless it has its own.

    A fitted one is refused: it may have seen the documents that decide.
    """
    if isinstance(value, str):
        ranker = read_ranker(value)
    elif value.__sklearn_is_fitted__():
        raise ModelError(
            f"parameter {parameter} of {owner} is a fitted {type(value).__name__}: give one that "
            "is not fitted, as sklearn.base.clone makes of it"
        )
    else:
        ranker = type(value)(**value.get_params(deep=False))
    if ranker.random_state is None:
        ranker.random_state = seed
    return ranker


def members_of(params: Mapping[str, Any]) -> dict[str, BaseRanker]:
    """Return the rankers among parameters, at any depth, by where they are.

    They are objects, or texts of the parameters ``ranker`` and ``rankers``.
    """
    found: dict[str, BaseRanker] = {}
    for name, value in params.items():
        for number, one in enumerate(value if isinstance(value, list | tuple) else [value]):
            is_text = isinstance(one, str) and name in ("ranker", "rankers")
            member = read_ranker(one) if is_text else one
            if isinstance(member, BaseRanker):
                place = f"{name} {number}"
                inner = members_of(member.get_params(deep=False))
                found |= {place: member, **{f"{place} {path}": m for path, m in inner.items()}}
    return found


def texts_of(rankers: Sequence[BaseRanker | str]) -> list[str]:
    """Return how to call each ranker: its text as given, or its registered name."""
    return [one if isinstance(one, str) else one.ranker_name for one in rankers]
