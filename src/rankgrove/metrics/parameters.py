"""The parameters of metrics: accepted values, and their text form in metric names.

A parameter has one meaning for all metrics. Every value has one canonical form, so that equal
metrics compare equal and print the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """One parameter: ``canonical`` turns text or a value into its canonical form, or raises."""

    meaning: str
    accepts: str
    canonical: Callable[[Any], Any]

    def check(self, name: str, value: Any) -> Any:
        """Return the canonical form of a value, or raise an error that lists what is accepted."""
        try:
            return self.canonical(value)
        except (ValueError, TypeError, OverflowError, KeyError):
            raise ValueError(f"{name} must be {self.accepts}, not {value!r}") from None


def format_value(value: Any) -> str:
    """Return a canonical value as text that the parameter can parse."""
    if isinstance(value, tuple):
        return "/".join(format_value(entry) for entry in value)
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _number_in(low: float, high: float, open_ends: bool = False) -> Callable[[Any], float]:
    def canonical(value: Any) -> float:
        number = _number(value)
        inside = low < number < high if open_ends else low <= number <= high
        if not inside:
            raise ValueError
        return number

    return canonical


def _ranks(value: Any) -> int | None:
    if value is None or value == "none":
        return None
    number = _number(value)
    if not 1 <= number < 2**62 or number != int(number):
        raise ValueError
    return int(number)


def _choice(*choices: str) -> Callable[[Any], str]:
    def canonical(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return canonical


def _gain(value: Any) -> str | tuple[float, ...]:
    if isinstance(value, str):
        if value in ("exp", "linear"):
            return value
        value = value.split("/")
    if not isinstance(value, Iterable):
        raise TypeError
    table = tuple(_number(entry) for entry in value)
    if not table or min(table) < 0:
        raise ValueError
    return table


def _discount(value: Any) -> str:
    if value in ("log2", "letor"):
        return str(value)
    kind, colon, power = str(value).partition(":")
    if kind not in ("alpha", "beta") or not colon or _number(power) < 0:
        raise ValueError
    return f"{kind}:{format_value(_number(power))}"


def _empty(value: Any) -> float | str:
    return "skip" if value == "skip" else _number_in(0, 1)(value)


def _relevance(value: Any) -> float | str:
    if isinstance(value, str) and value.startswith(">"):
        return f">{format_value(_number_in(0, math.inf)(value[1:]))}"
    return _number_in(0, math.inf)(value)


PARAMETERS = {
    "k": Parameter(
        "cut-off: only the first k ranks count",
        "a whole number of at least 1, or None for the whole list",
        _ranks,
    ),
    "gain": Parameter(
        "gain of a label: 2^label - 1, the label itself, or a table of gains by label",
        "'exp', 'linear', or a table of gains such as (0, 1, 3) or '0/1/3'",
        _gain,
    ),
    "discount": Parameter(
        "weight of rank r: 1/log2(r + 1); 1/log2(r + 1)^a; 1/r^b; or LETOR's 1, 1, then 1/log2(r)",
        "'log2', 'alpha:<power>', 'beta:<power>' (powers of at least 0) or 'letor'",
        _discount,
    ),
    "empty": Parameter(
        "value of a query without a relevant document",
        "a number from 0 to 1, or 'skip' to leave the query out of the mean",
        _empty,
    ),
    "ties": Parameter(
        "order of equal scores: mean over all orders, as in the data, lower label first, higher "
        "label first, or by descending document id",
        "'average', 'input', 'worst', 'best' or 'doc_id'",
        _choice("average", "input", "worst", "best", "doc_id"),
    ),
    "short": Parameter(
        "a query with fewer than k documents: missing ones are irrelevant, k is cut to the list, "
        "or the value is 0",
        "'pad', 'cut' or 'zero'",
        _choice("pad", "cut", "zero"),
    ),
    "relevant_from": Parameter(
        "labels that are relevant: at least a number, or above one",
        "a number of at least 0, or text such as '>0.5'",
        _relevance,
    ),
    "bins": Parameter(
        "parts of equal width into which probabilities are divided",
        "a whole number from 1 to 1000",
        lambda value: _integer_up_to(1000, value),
    ),
    "denominator": Parameter(
        "average precision is divided by the relevant documents, or by at most k of them",
        "'relevant' or 'k'",
        _choice("relevant", "k"),
    ),
    "max_grade": Parameter(
        "highest label of the scale",
        "a number above 0 and of at most 53",
        lambda value: _number_in(math.nextafter(0, 1), 53)(value),
    ),
    "persistence": Parameter(
        "probability that the user goes on to the next rank",
        "a number between 0 and 1, both excluded",
        _number_in(0, 1, open_ends=True),
    ),
    "variant": Parameter(
        "tau-b corrects for ties, tau-a does not", "'a' or 'b'", _choice("a", "b")
    ),
}


def parameter_like(default: Any) -> Parameter | None:
    """Return a parameter of the type of a default value, or None for unsupported types."""
    if isinstance(default, bool):
        return Parameter("", "True or False", _flag)
    if isinstance(default, int):
        return Parameter("", "a whole number", _whole)
    if isinstance(default, float):
        return Parameter("", "a finite number", _number)
    if isinstance(default, str):
        return Parameter("", "a text without blanks, commas and parentheses", _word)
    return None


def _flag(value: Any) -> bool:
    return {"true": True, "false": False}[str(value).lower()]


def _whole(value: Any) -> int:
    number = int(value)
    if isinstance(value, bool) or number != float(value):
        raise ValueError
    return number


def _integer_up_to(high: int, value: Any) -> int:
    number = _whole(value)
    if not 1 <= number <= high:
        raise ValueError
    return number


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value or any(c in " ,()=" for c in value):
        raise ValueError
    return value


def empty_value(empty: float | str) -> float:
    """Return the value of a query without relevant documents; NaN for 'skip'."""
    return math.nan if isinstance(empty, str) else empty
