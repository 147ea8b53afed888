"""Curves of a metric over iterations or splits, as data, as SVG text and as an interactive plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankgrove._optional import require
from rankgrove._svg import PALE, PALETTE, Drawing, round_ticks

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 16, 36, 46


@dataclass(frozen=True)
class Curve:
    """Values of one metric on one set after steps (iterations 1, 2, ... unless given).

    ``interval`` holds the lower and the upper ends of an interval around each value.
    """

    name: str
    values: Sequence[float]
    steps: Sequence[float] | None = None
    interval: tuple[Sequence[float], Sequence[float]] | None = None

    @property
    def x(self) -> Sequence[float]:
        """The steps."""
        return range(1, len(self.values) + 1) if self.steps is None else self.steps

    def outline(self) -> list[tuple[float, float]]:
        """Return the corners of the area of the intervals; none if there are no intervals."""
        if self.interval is None:
            return []
        low, high = (list(zip(self.x, ends, strict=True)) for ends in self.interval)
        return [point for point in low + high[::-1] if math.isfinite(point[1])]

    @property
    def has_few_points(self) -> bool:
        """Whether its points are marked: one alone is no line, and of few it matters where."""
        return len(self.values) < 10


def history_curves(source: Any, metric: str | None = None) -> list[Curve]:
    """Curves of what a fit watched, one per set.

    Parameters
    ----------
    source : a fitted boosted ranker, its ``evals_result_``, or a dict that names several rankers
    metric : name of the metric; by default the first one
    """
    if isinstance(source, Mapping) and any(hasattr(v, "evals_result_") for v in source.values()):
        return [
            Curve(f"{name}, {curve.name}", curve.values)
            for name, ranker in source.items()
            for curve in history_curves(ranker, metric)
        ]
    history = source if isinstance(source, Mapping) else getattr(source, "evals_result_", None)
    if not history:
        raise ValueError("there is no history to plot: fit with eval_set to watch metrics")
    curves = []
    for name, metrics in history.items():
        chosen = next(iter(metrics)) if metric is None else metric
        if chosen not in metrics:
            raise ValueError(f"{chosen!r} was not watched on {name!r}: {', '.join(metrics)} were")
        curves.append(Curve(f"{name} {chosen}", list(metrics[chosen])))
    return curves


def plot_history(source: Any, metric: str | None = None, title: str = "") -> Any:
    """Plot a metric per iteration as a plotly figure; arguments as in ``history_curves``."""
    return plot_curves(history_curves(source, metric), title)


def plot_curves(
    curves: Sequence[Curve], title: str = "", x_title: str = "iteration", y_title: str = ""
) -> Any:
    """Plot curves as a plotly figure."""
    graph_objects = require("plotly.graph_objects", "plots", "plotting")
    figure = graph_objects.Figure()
    for number, curve in enumerate(curves):
        colour = PALETTE[number % len(PALETTE)]
        mode = "lines+markers" if curve.has_few_points else "lines"
        figure.add_scatter(
            x=list(curve.x),
            y=list(curve.values),
            name=curve.name,
            mode=mode,
            line={"color": colour},
            legendgroup=str(number),
        )
        if outline := curve.outline():
            across, down = zip(*outline, strict=True)
            figure.add_scatter(
                x=list(across),
                y=list(down),
                fill="toself",
                fillcolor=colour,
                opacity=0.15,
                mode="none",
                hoverinfo="skip",
                showlegend=False,
                legendgroup=str(number),
            )
    figure.update_layout(
        title=title, xaxis_title=x_title, yaxis_title=y_title, template="plotly_white"
    )
    return figure


def history_svg(source: Any, metric: str | None = None, title: str = "") -> str:
    """Draw a metric per iteration as SVG text; needs no plotting library."""
    return curves_svg(history_curves(source, metric), title)


def curves_svg(
    curves: Sequence[Curve], title: str = "", x_title: str = "iteration", y_title: str = ""
) -> str:
    """Draw curves as SVG text; needs no plotting library."""
    finite = [value for curve in curves for value in curve.values if math.isfinite(value)]
    finite += [value for curve in curves for _, value in curve.outline()]
    if not finite:
        raise ValueError("there is no finite value to plot")
    first = min(min(curve.x) for curve in curves)
    last = max(first + 1, max(max(curve.x) for curve in curves))
    x_ticks = round_ticks(first, last, whole=True)
    y_ticks = round_ticks(min(finite), max(finite))
    low, high = y_ticks[0], y_ticks[-1]

    def x(step: float) -> float:
        return _LEFT + (step - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    drawing = Drawing(_WIDTH, _HEIGHT, title)
    for value in y_ticks:
        drawing.line(_LEFT, y(value), _WIDTH - _RIGHT, y(value))
        drawing.text(_LEFT - 8, y(value) + 4, f"{value:.6g}", anchor="end", colour=PALE)
    for value in x_ticks:
        if first <= value <= last:
            drawing.text(
                x(value), _HEIGHT - _BOTTOM + 18, f"{value:g}", anchor="middle", colour=PALE
            )
    drawing.line(_LEFT, y(low), _WIDTH - _RIGHT, y(low), PALE)
    drawing.text((_LEFT + _WIDTH) / 2, _HEIGHT - 8, x_title, anchor="middle", colour=PALE)
    drawing.text(_LEFT, 20, title, bold=True)
    drawing.text(_LEFT - 8, _TOP - 6, y_title, anchor="end", colour=PALE)
    for number, curve in enumerate(curves):
        colour = PALETTE[number % len(PALETTE)]
        points = [
            (x(i), y(v)) for i, v in zip(curve.x, curve.values, strict=True) if math.isfinite(v)
        ]
        drawing.area([(x(i), y(v)) for i, v in curve.outline()], colour)
        drawing.polyline(points, colour)
        if curve.has_few_points:
            for across, down in points:
                drawing.dot(across, down, colour)
        legend = _HEIGHT - _BOTTOM - 14 - 16 * (len(curves) - 1 - number)
        drawing.line(_WIDTH - 190, legend - 4, _WIDTH - 170, legend - 4, colour, 3)
        drawing.text(_WIDTH - 164, legend, curve.name)
    return str(drawing)
