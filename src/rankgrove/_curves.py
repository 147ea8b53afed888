"""Curves of a metric over iterations or splits, as data and as pictures."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankgrove._svg import PALE, PALETTE, Drawing, round_ticks

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 16, 36, 46
_COST_HEIGHT, _COST_TOP = 180, 30  # of a panel that shows costs
# What the points of a curve took: the title of its axis, and the field that holds it.
COSTS = {"fit seconds": "fit_seconds", "score microseconds per document": "score_microseconds"}


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
        """Whether the points are drawn as markers, because there are few of them."""
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
    """Title of the x axis: the number of steps that validation kept, and the rule."""
    kept, rule = (getattr(source, name, None) for name in ("best_iteration_", "stopping_rule_"))
    return "iteration" if kept is None or rule is None else f"iteration ({kept} kept by {rule!r})"


def cost_curves(curves: Sequence[Curve]) -> dict[str, list[Curve]]:
    """Return what the points of curves took, as curves by the title of their axis."""
    panels = {}
    for title, field_name in COSTS.items():
        known = [
            Curve(curve.name, [math.nan if v is None else v for v in costs], curve.steps)
            for curve in curves
            if (costs := getattr(curve, field_name)) is not None
        ]
        if any(math.isfinite(value) for curve in known for value in curve.values):
            panels[title] = known
    return panels


def draw_curves(
    curves: Sequence[Curve], title: str = "", x_title: str = "iteration", y_title: str = ""
) -> Drawing:
    """Draw curves, and what their points took in panels below."""
    if isinstance(curves, str) or not isinstance(curves, Collection):
        raise TypeError(f"curves must be a list of Curve objects, not {curves!r:.60}")
    finite = [value for curve in curves for value in curve.values if math.isfinite(value)]
    finite += [value for curve in curves for _, value in curve.outline()]
    if not finite:
        raise ValueError("there is no finite value to plot")
    costs = cost_curves(curves)
    drawing = Drawing(_WIDTH, _HEIGHT + _COST_HEIGHT * len(costs), title)
    drawing.text(_LEFT, 14, title, bold=True)
    drawing.text(_LEFT, _TOP - 6, y_title, colour=PALE)
    main = _Panel(drawing, curves, _TOP, _HEIGHT - _BOTTOM, finite)
    main.draw(curves, x_title)
    colours = {curve.name: PALETTE[i % len(PALETTE)] for i, curve in enumerate(curves)}
    for number, curve in enumerate(curves):
        legend = _HEIGHT - _BOTTOM - 14 - 16 * (len(curves) - 1 - number)
        drawing.line(_WIDTH - 190, legend - 4, _WIDTH - 170, legend - 4, colours[curve.name], 3)
        drawing.text(_WIDTH - 164, legend, curve.name)
    top = _HEIGHT
    for cost, known in costs.items():
        values = [value for curve in known for value in curve.values if math.isfinite(value)]
        bottom = top + _COST_HEIGHT - _BOTTOM
        drawing.text(_LEFT, top + _COST_TOP - 8, cost, colour=PALE)
        panel = _Panel(drawing, curves, top + _COST_TOP, bottom, [0.0, *values])
        panel.draw(known, x_title, colours)
        top += _COST_HEIGHT
    return drawing


class _Panel:
    """Axes over the steps of some curves, between two heights of a drawing."""

    def __init__(
        self,
        drawing: Drawing,
        curves: Sequence[Curve],
        top: float,
        bottom: float,
        values: Sequence[float],
    ) -> None:
        self._drawing, self._top, self._bottom = drawing, top, bottom
        places = [float(place) for curve in curves for place in curve.x]
        self._whole = all(place.is_integer() for place in places)
        self._first, self._last = min(places), max(places)
        if self._first == self._last:
            self._last += 1
        self._ticks = round_ticks(min(values), max(values))

    def _x(self, step: float) -> float:
        share = (step - self._first) / (self._last - self._first)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        share = (value - self._ticks[0]) / (self._ticks[-1] - self._ticks[0])
        return self._bottom - share * (self._bottom - self._top)

    def draw(
        self, curves: Sequence[Curve], x_title: str, colours: Mapping[str, str] | None = None
    ) -> None:
        """Draw axes and curves; ``colours`` by the names of the curves, else by their order."""
        drawing = self._drawing
        for value in self._ticks:
            drawing.line(_LEFT, self._y(value), _WIDTH - _RIGHT, self._y(value))
            drawing.text(_LEFT - 8, self._y(value) + 4, f"{value:.6g}", anchor="end", colour=PALE)
        for value in round_ticks(self._first, self._last, whole=self._whole):
            if self._first <= value <= self._last:
                across, below = self._x(value), self._bottom + 18
                drawing.text(across, below, f"{value:g}", anchor="middle", colour=PALE)
        drawing.line(_LEFT, self._bottom, _WIDTH - _RIGHT, self._bottom, PALE)
        middle = (_LEFT + _WIDTH) / 2
        drawing.text(middle, self._bottom + _BOTTOM - 8, x_title, anchor="middle", colour=PALE)
        for number, curve in enumerate(curves):
            colour = PALETTE[number % len(PALETTE)] if colours is None else colours[curve.name]
            places = zip(curve.x, curve.values, strict=True)
            points = [(self._x(i), self._y(v)) for i, v in places if math.isfinite(v)]
            drawing.area([(self._x(i), self._y(v)) for i, v in curve.outline()], colour)
            drawing.polyline(points, colour)
            if curve.has_few_points:
                for across, down in points:
                    drawing.dot(across, down, colour)
