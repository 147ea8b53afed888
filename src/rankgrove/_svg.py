"""Pictures as SVG, so that charts need no plotting library."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from xml.sax.saxutils import escape

from rankgrove._files import replacing

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
INK, PALE, GRID = "#1f2937", "#6b7280", "#d1d5db"
# A palette that stays distinct for colour-blind readers and in greyscale.
UP, DOWN = "#2563eb", "#d97706"
PALETTE = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#65a30d")


class Drawing:
    """A picture, which a notebook shows and ``save`` writes; ``str`` of it is SVG text.

    Shapes are drawn in the order in which they were added.
    """

    def __init__(self, width: float, height: float, title: str):
        self.width, self.height, self.title = width, height, title
        self._shapes: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: str = "start",
        colour: str = INK,
        halo: bool = False,
        bold: bool = False,
    ) -> None:
        """Write a line of text; a halo keeps it readable where it crosses a line."""
        style = ' paint-order="stroke" stroke="white" stroke-width="5"' if halo else ""
        if bold:
            style += ' font-weight="bold"'
        self._shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{style}>'
            f"{escape(_printable(text))}</text>"
        )

    def bar(
        self, x: float, y: float, width: float, height: float, colour: str, hint: str = ""
    ) -> None:
        """Draw a rectangle with a tooltip."""
        self._shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}" '
            f'fill="{colour}" rx="1.5"><title>{escape(_printable(hint))}</title></rect>'
        )

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str = GRID, width: float = 1
    ) -> None:
        """Draw a line."""
        self._shapes.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>'
        )

    def polyline(
        self, points: Iterable[tuple[float, float]], colour: str, width: float = 2
    ) -> None:
        """Draw a line through points."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
        )

    def area(self, points: Iterable[tuple[float, float]], colour: str) -> None:
        """Fill the area inside a line through points, so that what is below can be seen."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        if places:
            self._shapes.append(f'<polygon points="{places}" fill="{colour}" fill-opacity="0.15"/>')

    def dot(self, x: float, y: float, colour: str, radius: float = 3.5) -> None:
        """Draw a filled circle."""
        self._shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')

    def __str__(self) -> str:
        """Return the image as SVG text."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} '
            f'{self.height:.0f}" width="{self.width:.0f}" height="{self.height:.0f}" '
            f'font-family="{FONT}" font-size="12">\n<title>{escape(_printable(self.title))}'
            f'</title>\n<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(self._shapes)
            + "\n</svg>\n"
        )

    def __repr__(self) -> str:
        return f"<picture {self.title!r}, {self.width:.0f} x {self.height:.0f}>"

    def _repr_svg_(self) -> str:
        """Return the image as a notebook shows it."""
        return str(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture atomically, as SVG or as an HTML page, by the suffix of the path."""
        check_picture_name(path)
        text = str(self)
        if str(path).endswith(".html"):
            title = escape(_printable(self.title))
            text = (
                f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n'
                f'<body style="font-family: {FONT}">\n{text}</body></html>\n'
            )
        with replacing(path) as stream:
            stream.write(text.encode())


def check_picture_name(path: str | os.PathLike[str]) -> None:
    """Refuse a file name whose suffix is not that of a picture."""
    if not str(path).endswith((".svg", ".html")):
        raise ValueError(f"pictures are written as .svg or .html, not as {str(path)!r}")


def round_ticks(low: float, high: float, whole: bool = False) -> list[float]:
    """Return about five round axis ticks that enclose the range."""
    raw = (high - low or abs(high) or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(step for step in (1, 2, 2.5, 5, 10) if step * power >= raw) * power
    if whole:
        step = max(1.0, math.ceil(step))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{step * i:.12g}") for i in range(first, max(last, first + 1) + 1)]


def width_of(text: str) -> float:
    """Return an upper estimate of the width of a line of text."""
    return 7.0 * len(text)


def shortened(text: str, length: int) -> str:
    """Cut a text that is too long."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _printable(text: str) -> str:
    """Replace characters that XML does not allow."""
    return "".join(c if c.isprintable() else " " for c in text)
