"""Printing: JSON for machines, tables for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def print_json(value: Any, otherwise: Callable[[Any], Any] | None = None) -> None:
    """Print one JSON document; what JSON cannot represent (NaN, infinity) becomes null.

    ``otherwise`` makes something of objects that are no data.
    """
    json.dump(_plain(value), sys.stdout, indent=2, allow_nan=False, default=otherwise)
    sys.stdout.write("\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> Table:
    """Return a table with the first column to the left and numbers to the right."""
    from rich import box
    from rich.table import Table

    result = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for j, name in enumerate(columns):
        result.add_column(name, justify="right" if j else "left", no_wrap=True)
    for row in rows:
        result.add_row(*(str(cell) for cell in row))
    return result


def counts_table(counts: Iterable[tuple[str, int]]) -> Table:
    """Return the table of what a command left out or combined, by reason."""
    return table(["left out or combined", "count"], [(why, f"{n:,}") for why, n in counts])


def show(*parts: Any) -> None:
    """Print texts and tables, in colour on a terminal, never cut to its width elsewhere."""
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the command line knows what to do

    width = None if sys.stdout.isatty() else 200
    console = PlainConsole(width=width, highlight=False, soft_wrap=True)
    for part in parts:
        console.print(part)


def escape(text: str) -> str:
    """Keep square brackets of foreign text from being read as markup."""
    from rich.markup import escape

    return escape(text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
