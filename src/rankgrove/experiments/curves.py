"""Curves of a metric over iterations or splits, as SVG text and as an interactive plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankgrove._curves import Curve, draw_curves, history_curves, steps_title
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
    return curves_svg(history_curves(source, metric), title, steps_title(source))


def curves_svg(
    curves: Sequence[Curve], title: str = "", x_title: str = "iteration", y_title: str = ""
) -> str:
    """Draw curves as SVG text; needs no plotting library."""
    return str(draw_curves(curves, title, x_title, y_title))
