"""Charts of comparisons, as plotly figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rankgrove._optional import require
from rankgrove.experiments.comparison import Result

# Distinct also for colour-blind eyes and in grey.
PALETTE = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#65a30d")
_DASHES = ("solid", "dash", "dot")
_FONT = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def convergence_chart(results: Sequence[Result], metric: str) -> Any:
    """Draw the metric on the test data by number of trees, one line per ranker."""
    figure = _figure("trees", f"test {metric.upper()}")
    for place, result in enumerate(results):
        if result.convergence is None:
            continue
        figure.add_scatter(
            x=result.convergence.steps,
            y=result.convergence.values,
            name=result.name,
            mode="lines",
            line={"color": _colour(place), "width": 2.5, "dash": _dash(place)},
            hovertemplate=f"{result.name}<br>%{{x}} steps: %{{y:.4f}}<extra></extra>",
        )
    figure.update_layout(hovermode="closest", legend={"orientation": "h", "y": -0.2})
    return figure


def trade_off_chart(
    results: Sequence[Result], metric: str, cost: str, title: str, unit: str
) -> Any:
    """Draw the metric against a cost (an attribute of Result) on a logarithmic axis."""
    figure = _figure(title, f"test {metric.upper()}")
    by_cost = sorted(results, key=lambda result: getattr(result, cost) or 0)
    for place, result in enumerate(results):
        value = getattr(result, cost)
        if value is None:
            continue
        # Neighbours have their names on different sides.
        side = ("top", "bottom")[by_cost.index(result) % 2]
        figure.add_scatter(
            x=[value],
            y=[result.metrics[metric]],
            name=result.name,
            mode="markers+text",
            text=[result.name],
            textposition=f"{side} center",
            cliponaxis=False,
            marker={"color": _colour(place), "size": 13, "line": {"color": "white", "width": 1.5}},
            hovertemplate=f"{result.name}<br>%{{x:.3g}} {unit}: %{{y:.4f}}<extra></extra>",
        )
    figure.update_layout(showlegend=False)
    costs = [value for r in results if (value := getattr(r, cost)) is not None and value > 0]
    if costs:
        low, high = math.log10(min(costs)) - 0.3, math.log10(max(costs)) + 0.3
        ticks = [m * 10.0**e for e in range(-6, 7) for m in (1, 2, 5)]
        figure.update_xaxes(type="log", range=[low, high], tickvals=ticks, ticktext=_texts(ticks))
    return figure


def bar_chart(values: dict[str, int], title: str) -> Any:
    """Draw counts as bars."""
    figure = _figure(title, "documents")
    figure.add_bar(
        x=list(values),
        y=list(values.values()),
        marker_color=PALETTE[0],
        hovertemplate=f"{title} %{{x}}: %{{y:,}}<extra></extra>",
    )
    figure.update_xaxes(type="category")
    return figure


def histogram_chart(values: Sequence[int], title: str) -> Any:
    """Draw how values are distributed."""
    figure = _figure(title, "queries")
    figure.add_histogram(
        x=list(values),
        nbinsx=40,
        marker_color=PALETTE[2],
        hovertemplate="%{x} documents: %{y:,} queries<extra></extra>",
    )
    return figure


def _figure(x_title: str, y_title: str) -> Any:
    graphs = require("plotly.graph_objects", "plots", "drawing charts")
    figure = graphs.Figure()
    figure.update_layout(
        template="plotly_white",
        font={"family": _FONT, "size": 13, "color": "#1f2937"},
        margin={"l": 64, "r": 24, "t": 16, "b": 52},
        height=380,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    figure.update_xaxes(title=x_title, gridcolor="#eef2f7", zeroline=False)
    figure.update_yaxes(title=y_title, gridcolor="#eef2f7", zeroline=False)
    return figure


def _texts(numbers: Sequence[float]) -> list[str]:
    return [f"{number:.6f}".rstrip("0").rstrip(".") for number in numbers]


def _colour(place: int) -> str:
    return PALETTE[place % len(PALETTE)]


def _dash(place: int) -> str:
    return _DASHES[place // len(PALETTE) % len(_DASHES)]
