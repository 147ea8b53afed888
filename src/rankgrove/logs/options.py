"""The options of reading logs, each declared once."""

# ruff: noqa: RUF009 - an option is a field of a dataclass

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

Combine = Literal["mean", "median", "max", "min"]


def _option(meaning: str, choices: tuple[str, ...] = ()) -> Any:
    return field(default=None, metadata={"meaning": meaning, "choices": choices})


@dataclass(frozen=True)
class LogOptions:
    """The options of reading a log; None: found by the reader.

    Every reader names the options that it uses in ``ACCEPTS``; others are refused.
    """

    query: str | None = _option("column or field that holds the query")
    document: str | None = _option("column or field that holds the document id")
    grade: str | None = _option("column that holds the grade")
    queries: Sequence[str] | Mapping[str, str] | None = _option(
        "the queries of responses in their order, or the texts of query ids"
    )
    log_name: str | None = _option("name of the feature log, if the LTR plugin wrote several")
    raters: Sequence[str] | None = _option("columns of the ratings, one per rater")
    combine: Combine | None = _option(
        "how the ratings of several raters become one grade", get_args(Combine)
    )
    agreement_weights: bool | None = _option(
        "weight a judgment by 1 / (1 + variance of its ratings)"
    )
    categorical: Sequence[str] | None = _option(
        "feature columns whose values are categories (default: those whose type says so)"
    )
    ignore: Sequence[str] | Literal["texts"] | None = _option(
        "columns that are no features; texts: all that hold no numbers"
    )
    position: str | None = _option("column that holds the position in the result list, from 1")
    clicked: str | None = _option("column that is 1 or true for a clicked document")
    session: str | None = _option("column that holds the result list that was shown")
    click_actions: Sequence[str] | None = _option(
        "names of UBI's events that count as a click (default: click and item_click)"
    )

    def given(self) -> list[str]:
        """Return the names of the options that the caller gave."""
        return [option.name for option in fields(self) if getattr(self, option.name) is not None]


def log_options(arguments: Mapping[str, Any]) -> LogOptions:
    """Return the options of a caller, checked."""
    known = {option.name: option for option in fields(LogOptions)}
    for name, value in arguments.items():
        if name not in known:
            raise TypeError(f"there is no option {name!r}: there are {', '.join(known)}")
        choices = known[name].metadata["choices"]
        if choices and value is not None and value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    for name in ("raters", "click_actions", "categorical", "ignore"):
        if isinstance(arguments.get(name), str) and (name, arguments[name]) != ("ignore", "texts"):
            arguments = {**arguments, name: [arguments[name]]}
    return LogOptions(**arguments)
