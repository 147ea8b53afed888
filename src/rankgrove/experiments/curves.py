"""Curves of a metric over iterations or splits, as SVG text and as an interactive plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankgrove._curves import Curve, cost_curves, draw_curves, history_curves, steps_title
from rankgrove._optional import require
from rankgrove._svg import PALETTE

__all__ = [
    "Curve",
    "curves_svg",
    "history_curves",
    "history_svg",
    "plot_curves",
    "plot_history",
]


def plot_history(source: Any, metric: str | None = None, title: str = "") -> Any:
    """Plot a metric per iteration as a plotly figure; arguments as in ``history_curves``."""
    return plot_curves(history_curves(source, metric), title, steps_title(source))


def plot_curves(
    curves: Sequence[Curve], title: str = "", x_title: str = "iteration", y_title: str = ""
) -> Any:
    """Plot curves as a plotly figure, with what their points took in panels below."""
    require("plotly.graph_objects", "plots", "plotting")
    subplots = require("plotly.subplots", "plots", "plotting")
    costs = cost_curves(curves)
    heights = [3.0, *(1.0 for _ in costs)]
    figure = subplots.make_subplots(
        len(heights), 1, shared_xaxes=True, row_heights=heights, vertical_spacing=0.06
    )
    for number, curve in enumerate(curves):
        colour = PALETTE[number % len(PALETTE)]
        shared = {"legendgroup": str(number), "row": 1, "col": 1}
        figure.add_scatter(
            x=list(curve.x),
            y=list(curve.values),
            name=curve.name,
            mode=_mode(curve),
            line={"color": colour},
            **shared,
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
                **shared,
            )
    numbers = {curve.name: number for number, curve in enumerate(curves)}
    for row, (cost, known) in enumerate(costs.items(), 2):
        for curve in known:
            number = numbers[curve.name]
            figure.add_scatter(
                x=list(curve.x),
                y=list(curve.values),
                name=f"{curve.name}, {cost}",
                mode=_mode(curve),
                line={"color": PALETTE[number % len(PALETTE)]},
                legendgroup=str(number),
                showlegend=False,
                row=row,
                col=1,
            )
        figure.update_yaxes(title_text=cost, rangemode="tozero", row=row, col=1)
    figure.update_yaxes(title_text=y_title, row=1, col=1)
    figure.update_xaxes(title_text=x_title, row=len(heights), col=1)
    figure.update_layout(title=title, template="plotly_white")
    return figure


def _mode(curve: Curve) -> str:
    return "lines+markers" if curve.has_few_points else "lines"


def history_svg(source: Any, metric: str | None = None, title: str = "") -> str:
    """Draw a metric per iteration as SVG text; needs no plotting library."""
    return curves_svg(history_curves(source, metric), title, steps_title(source))


def curves_svg(
    curves: Sequence[Curve], title: str = "", x_title: str = "iteration", y_title: str = ""
) -> str:
    """Draw curves as SVG text; needs no plotting library."""
    return str(draw_curves(curves, title, x_title, y_title))
