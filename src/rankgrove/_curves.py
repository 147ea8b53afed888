"""Curves of a metric over iterations or splits, as data and as pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankgrove._svg import PALE, PALETTE, Drawing, round_ticks

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 16, 36, 46


@dataclass(frozen=True)
class Curve:
    """Values of one metric on one set after steps (iterations 1, 2, ... unless given).

    ``interval`` holds the lower and the upper ends of an interval around each value;
    ``fit_seconds`` and ``score_microseconds`` (per document) are what each point took, None where
    it is not known.
    """

    name: str
    values: Sequence[float]
    steps: Sequence[float] | None = None
    interval: tuple[Sequence[float], Sequence[float]] | None = None
    fit_seconds: Sequence[float | None] | None = field(default=None, compare=False)
    score_microseconds: Sequence[float | None] | None = field(default=None, compare=False)

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
        """Whether the curve has so few points that they are drawn as markers."""
        return len(self.values) < 10


def history_curves(source: Any, metric: str | None = None) -> list[Curve]:
    """Curves of the metrics that a fit recorded, one per evaluation set.

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
        raise ValueError("there is no history to plot: fit with eval_set to record metrics")
    curves = []
    for name, metrics in history.items():
        chosen = next(iter(metrics)) if metric is None else metric
        if chosen not in metrics:
            raise ValueError(f"{chosen!r} was not recorded on {name!r}: {', '.join(metrics)} were")
        curves.append(Curve(f"{name} {chosen}", list(metrics[chosen])))
    return curves


def steps_title(source: Any) -> str:
    """Title of the x axis, which says how many steps of a ranker validation kept, and why."""
    kept, rule = (getattr(source, name, None) for name in ("best_iteration_", "stopping_rule_"))
    return "iteration" if kept is None or rule is None else f"iteration ({kept} kept by {rule!r})"


def draw_curves(
    curves: Sequence[Curve], title: str = "", x_title: str = "iteration", y_title: str = ""
) -> Drawing:
    """Draw curves."""
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
    return drawing
