"""Pictures of explanations: waterfalls, forces by rank, bars and curves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rankgrove._svg import (
    DOWN,
    GRID,
    INK,
    PALE,
    PALETTE,
    UP,
    Drawing,
    round_ticks,
    shortened,
    width_of,
)

Floats = npt.NDArray[np.float64]

_ROW, _BAR, _CHART, _TOP = 22, 15, 420, 44
_LEAST, _MOST, _LONGEST = 110.0, 350.0, 48  # width of a column of names, letters of a name


def waterfall(
    title: str,
    start: tuple[str, float],
    effects: Sequence[tuple[str, float]],
    end: tuple[str, float],
    n_shown: int = 15,
) -> Drawing:
    """Draw how effects lead from one score to another; small ones are one step."""
    shown = list(effects[:n_shown])
    rest = sum(effect for _, effect in effects[n_shown:])
    if len(effects) > n_shown:
        shown.append((f"{len(effects) - n_shown} other features", rest))
    levels = start[1] + np.r_[0.0, np.cumsum([effect for _, effect in shown])]
    labels = _column([start[0], end[0], *(name for name, _ in shown)])
    drawing = _drawing(labels, _TOP + (len(shown) + 2) * _ROW + 16, title)
    low, high = min(levels.min(), end[1]), max(levels.max(), end[1])
    scale = _CHART / (high - low) if high > low else 0.0

    def place(score: float) -> float:
        return float(labels + (score - low) * scale)

    for (name, score), at in ((start, _TOP), (end, _TOP + (len(shown) + 1) * _ROW)):
        drawing.text(labels - 8, at + 12, shortened(name, _LONGEST), anchor="end", colour=PALE)
        drawing.line(place(score), at, place(score), at + _BAR, INK, 2)
        drawing.text(place(score) + 6, at + 12, f"{score:.4f}", colour=PALE)
    for k, (name, effect) in enumerate(shown):
        y = _TOP + (k + 1) * _ROW
        left, right = sorted((place(levels[k]), place(levels[k + 1])))
        drawing.text(labels - 8, y + 12, shortened(name, _LONGEST), anchor="end")
        drawing.line(place(levels[k]), y - _ROW + _BAR, place(levels[k]), y)
        drawing.bar(left, y, right - left, _BAR, UP if effect >= 0 else DOWN, f"{name}: {effect:+}")
        drawing.text(right + 6, y + 12, f"{effect:+.4f}")
    return drawing


def force_by_rank(
    title: str,
    documents: Sequence[tuple[str, float]],
    features: Sequence[str],
    lifts: Floats,
    n_documents: int = 20,
) -> Drawing:
    """Draw, for each document of a list, the effects of the features beside the list's mean.

    Effects that raise the score go to the right, those that lower it to the left; the mark is the
    sum.
    Documents are names and scores, best first; ``lifts`` has a row for each of them.
    """
    documents = documents[:n_documents]
    lifts = lifts[: len(documents)]
    by_size = np.argsort(-np.abs(lifts).sum(axis=0), kind="stable")[: len(PALETTE)]
    parts, names = lifts[:, by_size], [features[j] for j in by_size]
    colours = list(PALETTE[: len(by_size)])
    if len(features) > len(by_size):
        parts = np.c_[parts, lifts.sum(axis=1) - parts.sum(axis=1)]
        names.append("others")
        colours.append(GRID)
    left = (-np.minimum(parts, 0).sum(axis=1)).max(initial=0.0)
    right = np.maximum(parts, 0).sum(axis=1).max(initial=0.0)
    scale = _CHART / (left + right) if left + right > 0 else 0.0
    labels = _column([f"{rank}. {name}" for rank, (name, _) in enumerate(documents, 1)])
    zero = labels + left * scale
    height = _TOP + len(documents) * _ROW + 24 + (len(names) + 1) // 2 * 18
    drawing = _drawing(labels, height, title)
    drawing.line(zero, _TOP - 6, zero, _TOP + len(documents) * _ROW, INK)
    for rank, ((document, score), row) in enumerate(zip(documents, parts, strict=True), 1):
        y = _TOP + (rank - 1) * _ROW
        drawing.text(labels - 8, y + 12, shortened(f"{rank}. {document}", _LONGEST), anchor="end")
        for sign in (1, -1):
            x = zero
            for name, colour, part in zip(names, colours, row, strict=True):
                if part * sign > 0:
                    width = abs(part) * scale
                    at = x if sign > 0 else x - width
                    drawing.bar(at, y, width, _BAR, colour, f"{name}: {part:+}")
                    x += sign * width
        total = zero + row.sum() * scale
        drawing.line(total, y - 2, total, y + _BAR + 2, INK, 2)
        drawing.text(labels + _CHART + 8, y + 12, f"{score:.4f}", colour=PALE)
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        x, y = 24 + k % 2 * (labels + _CHART) / 2, _TOP + len(documents) * _ROW + 16 + k // 2 * 18
        drawing.bar(x, y, 10, 10, colour)
        drawing.text(x + 16, y + 9, shortened(name, 50))
    return drawing


def bars(title: str, values: Sequence[tuple[str, float]], n_shown: int = 30) -> Drawing:
    """Draw named values as bars, in their order."""
    shown = values[:n_shown]
    low = min(0.0, *(value for _, value in shown)) if shown else 0.0
    high = max(0.0, *(value for _, value in shown)) if shown else 0.0
    scale = _CHART / (high - low) if high > low else 0.0
    labels = _column([name for name, _ in shown])
    zero = labels - low * scale
    drawing = _drawing(labels, _TOP + len(shown) * _ROW + 12, title)
    for k, (name, value) in enumerate(shown):
        y = _TOP + k * _ROW
        left, right = sorted((zero, zero + value * scale))
        drawing.text(labels - 8, y + 12, shortened(name, _LONGEST), anchor="end")
        drawing.bar(left, y, right - left, _BAR, UP if value >= 0 else DOWN, f"{name}: {value}")
        drawing.text(right + 6, y + 12, f"{value:.4g}")
    return drawing


def curve(
    title: str,
    feature: str,
    grid: Floats,
    values: Floats,
    categories: tuple[str, ...] | None = None,
    line_names: Sequence[str] = (),
) -> Drawing:
    """Draw values over the grid of a feature.

    The grid of a categorical feature has the names ``categories``. A second axis of the values, if
    there is one, is drawn as lines with the names ``line_names``.
    """
    lines = values.reshape(len(grid), -1).T
    left, top, width, height = 70.0, 44.0, 520.0, 280.0
    legend = 190 if len(lines) > 1 else 30
    drawing = Drawing(left + width + legend, top + height + 48, title)
    drawing.text(12, 24, title)
    x_scale = width / (grid[-1] - grid[0]) if grid[-1] > grid[0] else 0.0
    ticks = round_ticks(float(lines.min()), float(lines.max()))
    low, high = ticks[0], ticks[-1]
    y_scale = height / (high - low)
    for tick in ticks:
        y = top + (high - tick) * y_scale
        drawing.line(left, y, left + width, y)
        drawing.text(left - 8, y + 4, f"{tick:.6g}", anchor="end", colour=PALE)
    if categories is not None:
        grid = np.arange(len(grid), dtype=float)  # categories have no distances
        x_scale = width / max(len(grid) - 1, 1)
    for tick, text in _ticks(grid, categories):
        x = left + (tick - grid[0]) * x_scale
        drawing.text(x, top + height + 18, text, anchor="middle", colour=PALE)
    drawing.text(left + width / 2, top + height + 38, feature, anchor="middle")
    for k, line in enumerate(lines):
        colour = PALETTE[k % len(PALETTE)]
        points = [
            (left + (x - grid[0]) * x_scale, top + (high - y) * y_scale)
            for x, y in zip(grid, line, strict=True)
        ]
        for (x1, y1), (x2, y2) in pairwise(points):
            drawing.line(x1, y1, x2, y2, colour, 2)
        if len(lines) > 1:
            name = shortened(line_names[k], 26)
            drawing.text(left + width + 10, top + 12 + k * 15, name, colour=colour)
    return drawing


def _ticks(grid: npt.NDArray[np.float64], names: tuple[str, ...] | None) -> list[tuple[float, str]]:
    """Return the places and texts below an axis: round numbers, or categories by name."""
    if names is not None:
        return [(float(place), shortened(name, 10)) for place, name in enumerate(names)]
    low, high = float(grid[0]), float(grid[-1])
    return [(tick, f"{tick:.6g}") for tick in round_ticks(low, high) if low <= tick <= high]


def _column(names: Sequence[str]) -> float:
    """Return the width of a column of names."""
    widest = max((width_of(shortened(name, _LONGEST)) for name in names), default=0.0)
    return min(_MOST, max(_LEAST, widest + 20))


def _drawing(labels: float, height: float, title: str) -> Drawing:
    """Begin a picture of named rows with its title."""
    drawing = Drawing(max(labels + _CHART + 90, width_of(title) + 24), height, title)
    drawing.text(12, 24, title)
    return drawing


def value_text(value: float | str | None) -> str:
    """Return the value of a feature as text."""
    if isinstance(value, str):
        return value
    return "missing" if value is None or np.isnan(value) else f"{value:.6g}"
