"""Constraints of parameters, which fit, the command line and the docs read."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rankgrove.errors import ModelError

LARGEST = 2**31 - 1


class Constraint(Protocol):
    """The values that one parameter accepts."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is allowed."""

    def describe(self) -> str:
        """Return the allowed values in words."""

    def parse(self, text: str) -> Any:
        """Read a value from the command line; ValueError if the text is none."""


@dataclass(frozen=True)
class Integer:
    """A whole number, both ends included; the native engine counts in 32 bits."""

    low: int | None = None
    high: int = LARGEST

    def accepts(self, value: Any) -> bool:
        """Return whether the value is a whole number in the range."""
        if not isinstance(value, numbers.Integral) or isinstance(value, bool | np.bool_):
            return False
        number = int(value)
        if self.low is not None and number < self.low:
            return False
        return -LARGEST <= number <= self.high

    def describe(self) -> str:
        """Return the allowed values in words."""
        high = None if self.high == LARGEST else self.high
        return "a whole number" + _range_text(self.low, high, "<=")

    def parse(self, text: str) -> int:
        """Read a whole number."""
        return int(text)


@dataclass(frozen=True)
class Real:
    """A finite number, both ends included unless ``above`` says that the lower end is not."""

    low: float | None = None
    high: float | None = None
    above: bool = False

    def accepts(self, value: Any) -> bool:
        """Return whether the value is a finite number in the range."""
        if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
            return False
        number = float(value)
        if not math.isfinite(number):
            return False
        if self.low is not None and (number <= self.low if self.above else number < self.low):
            return False
        return self.high is None or number <= self.high

    def describe(self) -> str:
        """Return the allowed values in words."""
        return "a number" + _range_text(self.low, self.high, "<" if self.above else "<=")

    def parse(self, text: str) -> float:
        """Read a number."""
        return float(text)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is a truth value."""
        return isinstance(value, bool | np.bool_)

    def describe(self) -> str:
        """Return the allowed values in words."""
        return "True or False"

    def parse(self, text: str) -> bool:
        """Read a truth value."""
        known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() not in known:
            raise ValueError(f"{text!r} is neither true nor false")
        return known[text.lower()]


@dataclass(frozen=True)
class Choice:
    """One of some names; ``elsewhere`` has what other libraries call them, in lower case."""

    names: tuple[str, ...]
    elsewhere: Mapping[str, str]

    def __init__(self, *names: str, elsewhere: Mapping[str, str] | None = None) -> None:
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "elsewhere", elsewhere or {})

    def accepts(self, value: Any) -> bool:
        """Return whether the value is one of the names."""
        return isinstance(value, str) and value in self.names

    def describe(self) -> str:
        """Return the allowed values in words."""
        quoted = [f"'{name}'" for name in self.names]
        return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"

    def parse(self, text: str) -> str:
        """Read one of the names."""
        if text not in self.names:
            raise ValueError(f"{text!r} is not {self.describe()}{self.hint(text)}")
        return text

    def hint(self, value: Any) -> str:
        """Return a suggestion for a value that is not one of the names."""
        text = str(value).lower()
        near = difflib.get_close_matches(text, self.names, n=1)
        meant = self.elsewhere.get(text, near[0] if near else None)
        return f": did you mean {meant!r}?" if meant else ""


@dataclass(frozen=True)
class Nothing:
    """None."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is None."""
        return value is None

    def describe(self) -> str:
        """Return the allowed values in words."""
        return "None"

    def parse(self, text: str) -> None:
        """Read ``none``."""
        if text.lower() != "none":
            raise ValueError(f"{text!r} is not none")


@dataclass(frozen=True)
class Satisfies:
    """Anything for which a function is true; read from the command line by ``reader``, if given."""

    test: Callable[[Any], bool]
    words: str
    reader: Callable[[str], Any] | None = None

    def accepts(self, value: Any) -> bool:
        """Return whether the value passes the test."""
        return self.test(value)

    def describe(self) -> str:
        """Return the allowed values in words."""
        return self.words

    def parse(self, text: str) -> Any:
        """Read a value by the reader, if there is one."""
        if self.reader is None:
            raise ValueError(f"{self.words} can be given from Python only")
        return self.reader(text)

    def hint(self, value: Any) -> str:
        """Return the reason why the reader, if there is one, refuses a text."""
        if self.reader is not None and isinstance(value, str):
            try:
                self.reader(value)
            except ValueError as error:
                return f": {error}"
        return ""


@dataclass(frozen=True)
class AnyOf:
    """A value that any of several constraints accepts."""

    options: tuple[Constraint, ...]

    def __init__(self, *options: Constraint) -> None:
        object.__setattr__(self, "options", options)

    def accepts(self, value: Any) -> bool:
        """Return whether one of the constraints accepts the value."""
        return any(option.accepts(value) for option in self.options)

    def describe(self) -> str:
        """Return the allowed values in words."""
        return " or ".join(option.describe() for option in self.options)

    def parse(self, text: str) -> Any:
        """Read the text by the first constraint that accepts it."""
        for option in self.options:
            try:
                value = option.parse(text)
            except ModelError:  # of a file, which says what is wrong with it
                raise
            except ValueError:
                continue
            if option.accepts(value):
                return value
        raise ValueError(f"{text!r} is not {self.describe()}")


@dataclass(frozen=True)
class Span:
    """A search range: integers if both ends are; ``log`` searches on a log scale."""

    low: float
    high: float
    log: bool = False


Search = Span | tuple[Any, ...] | bool | None


@dataclass(frozen=True)
class NotStored:
    """Placeholder for a parameter that a model file cannot store (a function, say)."""

    description: str


def numbers_reader(text: str) -> list[int]:
    """Read whole numbers separated by commas."""
    return [int(part) for part in text.split(",")]


def check_parameters(
    owner: str, values: Mapping[str, Any], constraints: Mapping[str, Constraint]
) -> None:
    """Raise ValueError with the name and the value of the first parameter that is not allowed."""
    for name, value in values.items():
        if isinstance(value, NotStored):
            raise ValueError(
                f"parameter {name} of {owner} was {value.description}, which model files do not "
                f"keep: set it (set_params({name}=...)) before fitting"
            )
        constraint = constraints.get(name)
        if constraint is not None and not constraint.accepts(value):
            if isinstance(value, numbers.Integral) and int(value) > 2**32:
                raise ValueError(f"parameter {name} of {owner} is {value}, which is too large")
            hint = constraint.hint(value) if isinstance(constraint, Choice | Satisfies) else ""
            raise ValueError(
                f"parameter {name} of {owner} must be {constraint.describe()}, not {value!r}{hint}"
            )


def _range_text(low: float | None, high: float | None, lower_sign: str) -> str:
    if low is not None and high is not None:
        return f" x with {low} {lower_sign} x <= {high}"
    if low is not None:
        return f" {'>' if lower_sign == '<' else '>='} {low}"
    return "" if high is None else f" <= {high}"
