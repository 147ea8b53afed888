"""Options of reading the judgments that runs are measured against."""

from __future__ import annotations

import argparse
from typing import Any

from rankgrove.cli.options import reading_options

# Options that name columns of judgments beside a run, and the arguments of ``read_judgments``.
_JUDGMENT_COLUMNS = {"label": "grade", "query": "query", "doc_id": "document"}
JUDGMENT_OPTION_NAMES = {
    argument: f"--{option.replace('_', '-')}" for option, argument in _JUDGMENT_COLUMNS.items()
}


def judgment_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of reading that were given, as arguments of ``read_judgments``."""
    given = reading_options(arguments)
    for name in given:
        if name not in _JUDGMENT_COLUMNS:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{option} does not apply to a run, whose documents are matched by ids"
            )
    return {_JUDGMENT_COLUMNS[name]: value for name, value in given.items()}
