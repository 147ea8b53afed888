"""One HTML page of a comparison that needs nothing beside itself."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

from rankgrove import __version__
from rankgrove._files import replacing
from rankgrove.data.dataset import Dataset
from rankgrove.data.description import describe
from rankgrove.experiments import charts
from rankgrove.experiments.comparison import Result

# Heading, attribute of Result, digits; less is better.
COSTS = (
    ("training, s", "fit_seconds", 2),
    ("scoring, µs per document", "score_microseconds", 2),
)


def write_report(
    path: str | os.PathLike[str],
    title: str,
    subtitle: str,
    results: Sequence[Result],
    train: Dataset,
    test: Dataset,
) -> None:
    """Write the table, the convergence of every ranker, and its costs as a single HTML file.

    Long because it lists the parts of the page one after the other.
    """
    metrics = list(results[0].metrics)
    page = _Page()
    trained = [result for result in results if result.convergence is not None]
    page.section(
        "Results",
        f"Means over {test.n_queries:,} test queries; the best of a column is marked. Scoring is "
        "timed on one thread.",
        f'<div class="wide">{_table(results, metrics)}</div>',
    )
    if trained:
        page.section(
            "Convergence",
            f"{metrics[0].upper()} on the test queries by the number of trees (of iterations, for "
            "rankers that add several trees in each).",
            page.chart(charts.convergence_chart(trained, metrics[0])),
        )
        page.pair(
            *(
                (name, note, charts.trade_off_chart(trained, metrics[0], attribute, axis, unit))
                for name, note, attribute, axis, unit in (
                    (
                        "Quality and training time",
                        "Up and to the left is better.",
                        "fit_seconds",
                        "seconds of training",
                        "s",
                    ),
                    (
                        "Quality and scoring time",
                        "Up and to the left is better.",
                        "score_microseconds",
                        "microseconds per document, one thread",
                        "µs",
                    ),
                )
            )
        )
    found = describe(train)
    page.pair(
        ("Grades", "Judgments of the training data.", charts.bar_chart(found.grades, "grade")),
        (
            "Query lengths",
            "Documents per training query.",
            charts.histogram_chart(train.group_sizes.tolist(), "documents"),
        ),
    )
    tiles = {
        "training queries": f"{train.n_queries:,}",
        "training documents": f"{train.n_rows:,}",
        "test documents": f"{test.n_rows:,}",
        "features": f"{train.n_features:,}",
        f"best test {metrics[0].upper()}": f"{max(r.metrics[metrics[0]] for r in results):.4f}",
    }
    template = Template(resources.files(__package__).joinpath("report.html").read_text("utf-8"))
    text = template.substitute(
        title=escape(title),
        subtitle=escape(subtitle),
        tiles="".join(
            f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
            for name, value in tiles.items()
        ),
        sections="\n".join(page.parts),
        footer=escape(
            f"rankgrove {__version__}, Python {platform.python_version()}, "
            f"{platform.system()} {platform.machine()}, {os.cpu_count()} logical cores"
        ),
    )
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))


class _Page:
    """Collects sections; the first chart brings plotly's script with it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._has_script = False

    def section(self, heading: str, note: str, body: str) -> None:
        self.parts.append(_section(heading, note, body))

    def pair(self, *entries: tuple[str, str, Any]) -> None:
        sections = [
            _section(heading, note, self.chart(figure)) for heading, note, figure in entries
        ]
        self.parts.append(f'<div class="pair">{"".join(sections)}</div>')

    def chart(self, figure: Any) -> str:
        body: str = figure.to_html(
            full_html=False,
            include_plotlyjs=not self._has_script,
            config={"displaylogo": False, "responsive": True, "displayModeBar": False},
        )
        self._has_script = True
        return body


def _section(heading: str, note: str, body: str) -> str:
    return f'<section><h2>{escape(heading)}</h2><p class="note">{escape(note)}</p>{body}</section>'


def _table(results: Sequence[Result], metrics: Sequence[str]) -> str:
    headings = [
        "ranker",
        *(name.upper() for name in metrics),
        "trees",
        *(heading for heading, _, _ in COSTS),
    ]
    best = {name: max(result.metrics[name] for result in results) for name in metrics}
    least = {
        attribute: min(
            (v for r in results if (v := getattr(r, attribute)) is not None), default=None
        )
        for _, attribute, _ in COSTS
    }
    rows = []
    trained = 0
    for result in results:
        colour = "#d1d5db"
        if result.convergence is not None:
            colour = charts.PALETTE[trained % len(charts.PALETTE)]
            trained += 1
        dot = f'<i class="dot" style="background:{colour}"></i>'
        cells = [f"<td>{dot}{escape(result.name)}</td>"]
        cells += [
            _cell(f"{result.metrics[name]:.4f}", result.metrics[name] == best[name])
            for name in metrics
        ]
        cells.append(_cell("–" if result.n_steps is None else str(result.n_steps), False))
        for _, attribute, digits in COSTS:
            value = getattr(result, attribute)
            cells.append(
                _cell("–", False)
                if value is None
                else _cell(f"{value:.{digits}f}", value == least[attribute])
            )
        kind = ' class="baseline"' if result.convergence is None else ""
        rows.append(f"<tr{kind}>{''.join(cells)}</tr>")
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _cell(text: str, is_best: bool) -> str:
    return f'<td class="best">{text}</td>' if is_best else f"<td>{text}</td>"
