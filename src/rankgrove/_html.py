"""HTML tables for the rich display of notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table; all cells are escaped."""
    head = "".join(f"<th>{escape(text)}</th>" for text in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
