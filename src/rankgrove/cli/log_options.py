"""The options of reading search logs, as verbs take them."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgrove.cli.options import add_reading_option

if TYPE_CHECKING:
    from rankgrove.logs.reading import Kind

_OF_LOAD = ("categorical", "ignore")  # the same options as those of data files


def add_log_options(
    parser: argparse.ArgumentParser,
    kind: Kind,
    prefix: str,
    *,
    unprefixed: Collection[str] = (),
) -> dict[str, str]:
    """Add the options of a kind of log, and return them by argument in Python.

    Their names get a prefix, for other verbs have options such as ``--query``; those in
    ``unprefixed`` do not, and neither do ``--categorical`` and ``--ignore``.
    """
    from rankgrove.logs.options import LogOptions
    from rankgrove.logs.reading import accepted_options, format_names

    group = parser.add_argument_group(f"reading {kind}")
    group.add_argument(
        f"--{prefix}-format",
        choices=format_names(kind),
        help="format (default: found by the content)",
    )
    added = {"format": f"--{prefix}-format"}
    for option in fields(LogOptions):
        if option.name not in accepted_options(kind):
            continue
        if option.name in _OF_LOAD:
            add_reading_option(group, option.name)
            continue
        name = option.name if option.name in unprefixed else f"{prefix}_{option.name}"
        added[option.name] = f"--{name.replace('_', '-')}"
        group.add_argument(
            added[option.name],
            dest=f"{prefix}_{option.name}",
            help=option.metadata["meaning"],
            **_argument_of(option.name, option.metadata["choices"]),
        )
    return added


def given_log_options(arguments: argparse.Namespace, prefix: str) -> dict[str, Any]:
    """Return what ``add_log_options`` read, as options of reading in Python."""
    return {
        name.removeprefix(f"{prefix}_"): value
        for name, value in vars(arguments).items()
        if name.startswith(f"{prefix}_") and value is not None
    }


def _argument_of(name: str, choices: tuple[str, ...]) -> dict[str, Any]:
    if choices:
        return {"choices": choices}
    if name == "agreement_weights":
        return {"action": "store_true", "default": None}
    if name == "queries":
        return {"metavar": "FILE", "type": _queries}
    if name == "raters":
        return {"nargs": "+", "action": "extend", "metavar": "COLUMN"}
    if name == "click_actions":
        return {"nargs": "+", "action": "extend", "metavar": "NAME"}
    return {"metavar": "NAME"}


def _queries(text: str) -> list[str] | dict[str, str]:
    """Read a file of queries: one per line, or ``ID<tab>TEXT`` lines."""
    from rankgrove.errors import DataError
    from rankgrove.logs.text_lines import text_lines

    try:
        lines = [line for _, line in text_lines(Path(text))]
    except DataError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if lines and all("\t" in line for line in lines):
        return dict(line.split("\t", 1) for line in lines)
    return lines
