"""The report of a comparison: one self-contained HTML page.

``page/report.html`` is the frame, ``report.js`` draws everything from one JSON document that is
made here; plotly's script is put in. No network is needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import __version__
from rankgrove._addresses import file_path
from rankgrove._counts import counted
from rankgrove._files import replacing
from rankgrove._optional import require
from rankgrove.experiments.comparison import Comparison
from rankgrove.experiments.queries import TestQueries
from rankgrove.experiments.results import RankerResult
from rankgrove.experiments.store import CellResult
from rankgrove.experiments.tables import convention, order_note
from rankgrove.experiments.terms import TERMS

# Number of queries of a data set with documents: those on which rankers differ most.
MAX_QUERIES = 1500
_CURVE_POINTS = 60
_N_IMPORTANCES = 30


def write_report(path: str | os.PathLike[str], comparison: Comparison) -> None:
    """Write the page of a comparison."""
    if not hasattr(comparison, "study"):
        raise TypeError(
            "write_report takes the path of the page and a Comparison, in this order, not a "
            f"{type(path).__name__} and a {type(comparison).__name__}"
        )
    check_page_name(path)
    offline = require("plotly.offline", "plots", "a report")
    page = resources.files(__package__).joinpath("page")
    text = Template(page.joinpath("report.html").read_text("utf-8")).substitute(
        title=escape(comparison.study.get("title", "Comparison of rankers")),
        lead=escape(_lead(comparison)),
        convention="".join(f"<p>{escape(s)}</p>" for s in convention(comparison)),
        footer=escape(_footer(comparison)),
        style=page.joinpath("report.css").read_text("utf-8"),
        script=page.joinpath("report.js").read_text("utf-8"),
        plotly=offline.get_plotlyjs(),
        content=_as_script(content(comparison)),
    )
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))


def check_page_name(path: str | os.PathLike[str]) -> None:
    """Refuse a file name that is not of an HTML page: the page could replace data or a model."""
    if file_path(path).suffix.lower() not in ("", ".html", ".htm"):  # "": /dev/stdout
        raise ValueError(f"a report is written as .html, not as {str(path)!r}")


def content(comparison: Comparison) -> dict[str, Any]:
    """Return the data of the page as values for JSON."""
    return {
        "rankers": comparison.rankers,
        "metrics": list(comparison.short_names.values()),
        "greater": [comparison.sign(name) > 0 for name in comparison.metrics],
        "baseline": comparison.baseline,
        "terms": [
            {"word": term.word, "forms": term.forms, "text": term.text.replace("`", "")}
            for term in TERMS
        ],
        "study": json.dumps(comparison.study, indent=1, ensure_ascii=False),
        "data": [_data(comparison, name) for name in comparison.datasets],
    }


def _data(comparison: Comparison, data: str) -> dict[str, Any]:
    results = comparison.results(data)
    whole = [result for result in results if not result.failure]
    folds = [comparison.queries(data, fold) for fold in comparison.folds(data)]
    grades = np.unique(np.concatenate([queries.labels for queries in folds]))
    shown = _shown(comparison, data, whole)
    curves = {r.ranker: curve for r in whole if (curve := mean_curve(r.cells))}
    return {
        "name": data,
        "tiles": _tiles(comparison, data, folds),
        "rows": [_row(comparison, result) for result in results],
        "ids": _ids(folds),
        "queries": {r.ranker: _per_query(comparison, data, r.ranker) for r in whole},
        "top": {r.ranker: _documents(r, folds, shown) for r in whole},
        "grades": [_grade(grade) for grade in grades],
        "heat": {r.ranker: _grades_by_rank(r, folds, grades) for r in whole},
        "curves": curves,
        "without_curve": {r.ranker: _no_curve(r) for r in whole if r.ranker not in curves},
        "importances": {r.ranker: found for r in whole if (found := _importances(r, folds[0]))},
        "reliability": {r.ranker: bins for r in whole if (bins := _reliability(r))},
        "settings": [_settings(comparison, result) for result in results],
    }


def _tiles(comparison: Comparison, data: str, folds: Sequence[TestQueries]) -> list[list[str]]:
    results = [result for result in comparison.results(data) if not result.failure]
    first = comparison.metrics[0]
    tiles = [
        ["test queries", f"{sum(len(queries.ids) for queries in folds):,}"],
        ["folds" if len(folds) > 1 else "fold", str(len(folds))],
        ["training documents per fold", f"{np.mean([q.sizes[0, 1] for q in folds]):,.0f}"],
        ["features", f"{len(folds[0].feature_names):,}"],
    ]
    if results:
        leaders = [r.ranker for r in results if r.leading[first]]
        tiles.append([f"best {comparison.short_names[first]}", f"{results[0].values[first]:.4f}"])
        tiles.append(["share the first tier", str(len(leaders))])
    return tiles


def _row(comparison: Comparison, result: RankerResult) -> dict[str, Any]:
    memory = result.peak_memory
    return {
        "ranker": result.ranker,
        "failure": result.failure,
        "values": [_finite(result.values.get(name)) for name in comparison.metrics],
        "tiers": [result.tiers[name] for name in comparison.metrics],
        "note": order_note(comparison, result) if result.tie_free_values else "",
        "leading": [result.leading[name] for name in comparison.metrics],
        "marks": [result.marks[name] for name in comparison.metrics],
        "steps": result.n_steps,
        "fit_seconds": result.fit_seconds,
        "score_microseconds": result.score_microseconds,
        "megabytes": None if memory is None else memory / 2**20,
    }


def _ids(folds: Sequence[TestQueries]) -> list[str]:
    return [str(query) for queries in folds for query in queries.ids]


def _per_query(comparison: Comparison, data: str, ranker: str) -> list[list[float | None]]:
    return [
        [_finite(value, 10) for value in comparison.per_query(data, ranker, metric).tolist()]
        for metric in comparison.metrics
    ]


def _shown(
    comparison: Comparison, data: str, results: Sequence[RankerResult]
) -> npt.NDArray[np.bool_]:
    """Return the queries whose documents the page contains."""
    _, values = comparison.values(data, comparison.metrics[0])
    if not len(results):
        return np.zeros(0, bool)
    gaps = np.nan_to_num(np.ptp(values, axis=0))
    shown = np.zeros(len(gaps), bool)
    shown[np.argsort(-gaps, kind="stable")[:MAX_QUERIES]] = True
    return shown


def _first_repeat(result: RankerResult) -> list[CellResult]:
    return [cell for cell in result.cells if cell.repeat == 0]


def _documents(
    result: RankerResult, folds: Sequence[TestQueries], shown: npt.NDArray[np.bool_]
) -> dict[str, list[list[Any]]]:
    """Return the top documents of each shown query: names and grades."""
    found: dict[str, list[list[Any]]] = {}
    before = 0
    for cell, queries in zip(_first_repeat(result), folds, strict=True):
        for query, places in enumerate(cell.outcome.top):
            if not shown[before + query]:
                continue
            begin = queries.offsets[query]
            found[str(before + query)] = [
                [
                    str(queries.doc_ids[begin + place])
                    if len(queries.doc_ids)
                    else f"document {place + 1} of the query",
                    _grade(queries.labels[begin + place]),
                ]
                for place in places.tolist()
                if place >= 0
            ]
        before += len(queries.ids)
    return found


def _grades_by_rank(
    result: RankerResult, folds: Sequence[TestQueries], grades: npt.NDArray[np.float64]
) -> list[list[float]]:
    """Return the share of each grade at each rank."""
    counts: npt.NDArray[np.float64] = np.zeros((0, len(grades)))
    for cell, queries in zip(_first_repeat(result), folds, strict=True):
        top = cell.outcome.top
        if not len(counts):
            counts = np.zeros((top.shape[1], len(grades)))
        begins = queries.offsets[:-1]
        for rank in range(top.shape[1]):
            there = top[:, rank] >= 0
            labels = queries.labels[begins[there] + top[there, rank]]
            counts[rank] += np.bincount(np.searchsorted(grades, labels), minlength=len(grades))
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts[totals[:, 0] > 0] / totals[totals[:, 0] > 0]
    return [[round(share, 5) for share in row] for row in shares.tolist()]


def mean_curve(cells: Sequence[CellResult]) -> dict[str, list[float]] | None:
    """Return the mean of the first metric over the test queries of all fits by step.

    A fit that ended before others counts with its last value from there on, so that the curve ends
    at the value of the table.
    """
    stepped = [
        cell.outcome
        for cell in cells
        if len(cell.outcome.curve_steps) and np.isfinite(cell.outcome.curve_values).all()
    ]
    if not stepped:
        return None
    last = max(int(outcome.curve_steps[-1]) for outcome in stepped)
    points = np.unique(np.round(1 + (last - 1) * np.linspace(0, 1, _CURVE_POINTS) ** 2))
    values = [np.interp(points, outcome.curve_steps, outcome.curve_values) for outcome in stepped]
    n_queries = [np.isfinite(outcome.per_query[0]).sum() for outcome in stepped]
    mean = np.average(values, axis=0, weights=n_queries)
    return {"steps": points.tolist(), "values": [round(value, 5) for value in mean.tolist()]}


def _no_curve(result: RankerResult) -> str:
    """Return the reason why a ranker has no curve."""
    if any(len(cell.outcome.curve_steps) for cell in result.cells):
        return "the metric is undefined for some step"
    return "there are no scores after single steps"


def _importances(result: RankerResult, queries: TestQueries) -> list[list[Any]]:
    shares = [e.outcome.importances for e in result.cells if len(e.outcome.importances)]
    if not shares or len({len(share) for share in shares}) > 1:
        return []
    mean = np.mean(shares, axis=0)
    names = queries.feature_names
    if len(names) != len(mean):
        return []
    order = np.argsort(-mean, kind="stable")[:_N_IMPORTANCES]
    return [[str(names[i]), round(float(mean[i]), 6)] for i in order if mean[i] > 0]


def _reliability(result: RankerResult) -> dict[str, Any] | None:
    """Bins of probabilities over all folds, and the expected calibration error."""
    tables = [c.outcome.reliability for c in _first_repeat(result) if len(c.outcome.reliability)]
    if not tables:
        return None
    stacked = np.stack(tables)
    count = stacked[..., 0].sum(axis=0)
    filled = count > 0
    sums = np.nansum(stacked[..., 1:] * stacked[..., :1], axis=0)
    rows = np.c_[count[filled], sums[filled] / count[filled, None]]
    gaps = np.abs(rows[:, 1] - rows[:, 2])
    return {
        "ece": round(float(np.average(gaps, weights=rows[:, 0])), 5),
        "bins": [[int(row[0]), round(row[1], 5), round(row[2], 5)] for row in rows.tolist()],
    }


def _settings(comparison: Comparison, result: RankerResult) -> list[str]:
    described = next(r for r in comparison.study["rankers"] if r["label"] == result.ranker)
    texts = [
        ", ".join(f"{name}={value}" for name, value in setting.items()) or "defaults"
        for setting in result.settings
    ]
    chosen = [
        text if texts.count(text) == len(texts) else f"fold {i + 1}: {text}"
        for i, text in enumerate(texts)
    ]
    return [result.ranker, described["use"], "; ".join(dict.fromkeys(chosen))]


def _lead(comparison: Comparison) -> str:
    n_data, n_rankers = len(comparison.datasets), len(comparison.rankers)
    seeds = comparison.study["repeats"]
    return (
        f"{n_rankers} rankers on {counted(n_data, 'data set')}, trained on the same "
        f"folds{f' with {seeds} seeds each' if seeds > 1 else ''} and measured alike on queries "
        "that they had not seen."
    )


def _footer(comparison: Comparison) -> str:
    cells = [cell for cell in comparison.cells if cell.versions]
    versions: dict[str, str] = {"rankgrove": __version__}
    for cell in cells:
        versions |= cell.versions or {}
    machines = sorted({cell.machine for cell in cells})
    used = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{used}. Computed on {' and '.join(machines) or 'no machine yet'}."


def _as_script(value: Any) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _finite(value: float | None, digits: int | None = None) -> float | None:
    if value is None or not np.isfinite(value):
        return None
    return value if digits is None else float(f"{value:.{digits}g}")


def _grade(label: float) -> float | int:
    return int(label) if float(label).is_integer() else round(float(label), 3)
