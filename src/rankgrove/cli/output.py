"""Printing: JSON for machines, tables for people."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

_NAME_WIDTH = 16  # the first column of a table is not folded to less


def print_json(value: Any, otherwise: Callable[[Any], Any] | None = None) -> None:
    """Print one JSON document; what JSON cannot represent (NaN, infinity) becomes null.

    ``otherwise`` makes something of objects that are no data.
    """
    json.dump(_plain(value), sys.stdout, indent=2, allow_nan=False, default=otherwise)
    sys.stdout.write("\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> Table:
    """Return a table with the first column to the left and numbers to the right.

    On a narrow terminal the names of the first column are folded; numbers are never cut: a table
    that is too wide nevertheless has lines that the terminal wraps. A row may end early.
    """
    from rich import box
    from rich.table import Table

    texts = [[str(cell) for cell in row] for row in rows]
    result = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for j, name in enumerate(columns):
        width = max(_width(cell) for cell in (name, *(row[j] for row in texts if j < len(row))))
        if j == 0:
            result.add_column(name, overflow="fold", min_width=min(width, _NAME_WIDTH))
        else:
            result.add_column(name, justify="right", no_wrap=True, min_width=width)
    for row in texts:
        result.add_row(*row)
    return result


def _width(cell: str) -> int:
    """Return the width of the longest line of a cell, without its markup."""
    from rich.text import Text

    return max((line.cell_len for line in Text.from_markup(cell).split()), default=0)


def counts_table(counts: Iterable[tuple[str, int]]) -> Table:
    """Return the table of what a command left out or combined, by reason."""
    return table(["left out or combined", "count"], [(why, f"{n:,}") for why, n in counts])


def show(*parts: Any) -> None:
    """Print texts and tables, in colour on a terminal; no column is cut below its least width."""
    from rich.console import Console
    from rich.table import Table

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the command line knows what to do

    terminal = sys.stdout.isatty()
    console = PlainConsole(width=None if terminal else 200, highlight=False, soft_wrap=True)
    available = console.width
    for part in parts:
        needed = 0
        if isinstance(part, Table) and any(column.min_width for column in part.columns):
            unlimited = console.options.update(width=sys.maxsize)
            width = console.measure(part, options=unlimited)
            needed = width.minimum if terminal else width.maximum
        console.width = max(available, needed)
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
