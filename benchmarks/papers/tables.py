"""A table per study: what was measured, beside what the papers say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from _report import Report
from papers import methods, published
from papers.cells import Cells, Method
from papers.collections import COLLECTIONS
from papers.methods import Settings

OWN = ("own ndcg@10", "own map")
Figures = Mapping[str, Sequence[float]]
_OTHER = "; at the right the paper, on other data"


def forests(report: Report, cells: Cells, settings: Settings) -> None:
    """Ibrahim and Carman, tables V, X, XV and XVII."""
    rows = methods.forests(settings)
    for name in ("MQ2008", "OHSUMED"):
        paper = {
            method: [*(one or (np.nan, np.nan)), *five]
            for (collection, method), (one, five) in published.FORESTS.items()
            if collection == name
        }
        columns = ["V, X: NDCG@10", "V, X: MAP", "XV: NDCG@10", "XV: MAP"]
        _table(report, cells, name, rows, OWN, columns, paper, "; the paper at the right")
        _folds(report, cells, name, rows)
    _described(report, rows, settings)


def _folds(report: Report, cells: Cells, name: str, rows: Sequence[Method]) -> None:
    lines = []
    for method in rows:
        values = cells.runs(COLLECTIONS[name], method, OWN)
        paper = published.FOREST_FOLDS.get((name, method.label))
        for m, measure in enumerate(("NDCG@10", "MAP")):
            if len(values):
                by_fold = values.mean(axis=0)[:, m]
                lines.append([f"{method.label} {measure}", *(f"{v:.4f}" for v in by_fold)])
                if paper:
                    lines.append(["  paper", *(f"{value:.4f}" for value in paper[m])])
    columns = ["", *(f"Fold{i}" for i in range(1, 6))]
    report.table(columns, lines, caption=f"{name} by fold, beside table XVII")


def igbrt(report: Report, cells: Cells, settings: Settings) -> None:
    """Mohan, Chen and Weinberger, table 3. The paper's data cannot be had: the methods are
    compared on what can, and its figures show what order it found."""
    columns = ["Yahoo 2: ERR", "Yahoo 2: NDCG", "MSLR: ERR", "MSLR: NDCG"]
    for name in ("MQ2008", "OHSUMED", "WEB10K sample"):
        measures = ("yahoo err", "yahoo ndcg@10")
        rows = methods.igbrt(settings.on(name))
        _table(report, cells, name, rows, measures, columns, published.IGBRT, _OTHER)
    _described(report, methods.igbrt(settings), settings)


def plrank(report: Report, cells: Cells, settings: Settings) -> None:
    """Xia, Zhai and Wang, table 1. The paper's data cannot be had: the methods are
    compared on what can, and its figures show what order it found."""
    measures = ("yahoo ndcg@1", "yahoo ndcg@3", "yahoo ndcg@10", "yahoo err")
    paper = {
        label: [figures[2], published.PLRANK_MICROSOFT.get(label, [np.nan] * 4)[2]]
        for label, figures in published.PLRANK_YAHOO.items()
    }
    columns = ["Yahoo: NDCG@10", "Microsoft 30K: NDCG@10"]
    for name in ("MQ2008", "OHSUMED", "WEB10K sample"):
        rows = [*methods.plrank(settings.on(name)), *methods.baselines()]
        _table(report, cells, name, rows, measures, columns, paper, _OTHER)
    _described(report, [*methods.plrank(settings), *methods.baselines()], settings)


def broof(report: Report, cells: Cells, settings: Settings) -> None:
    """De Sa, Goncalves, Sousa and Salles, tables 3 and 2. The paper's data cannot be had: the
    methods are compared on what can, and its figures show what order it found."""
    columns = ["WEB10K: NDCG@10", "WEB10K: MAP", "Yahoo 2: NDCG@10", "Yahoo 2: MAP"]
    for name in ("MQ2008", "OHSUMED", "WEB10K sample"):
        rows = [*methods.broof(settings.on(name)), *methods.baselines()]
        _table(report, cells, name, rows, OWN, columns, published.BROOF, _OTHER)
    _described(report, [*methods.broof(settings), *methods.baselines()], settings)


def rcrank(report: Report, cells: Cells, settings: Settings) -> None:
    """Modry and Ferov, table 3, on a sample of their data and on MQ2008."""
    for name in ("WEB10K sample", "MQ2008"):
        for shift, labels in ((1, "from 1 on, as in the paper"), (0, "from 0 on")):
            lines = []
            for ranker, leaves in published.RCRANK:
                row = methods.rcrank(settings.on(name), ranker, leaves, shift)
                cells.measure(COLLECTIONS[name], row)
                runs = [cells.runs(COLLECTIONS[name], m, ["ranklib ndcg@10"]) for m in row]
                lines.append([f"{ranker}, {leaves} leaves", *map(_mean, runs)])
                if shift and name == "WEB10K sample":
                    figures = published.RCRANK[ranker, leaves]
                    lines.append(["  paper, all of WEB10K", *(f"{v:.4f}" for v in figures)])
            columns = ["", *(f"rate {rate}" for rate in published.RCRANK_RATES)]
            report.table(columns, lines, caption=f"{name}: NDCG@10, labels {labels}")
    _described(report, methods.rcrank(settings, "rcrank", 8, 1)[:1], settings)
    report.note(
        "Means of five folds; no sampling, so seeds change nothing. NDCG as RankLib computes it."
    )


def missing(report: Report, cells: Cells, settings: Settings) -> None:
    """Policies for missing values, on LETOR's OHSUMED before normalisation (9 % missing)."""
    rows = methods.missing(settings)
    _table(report, cells, "OHSUMED with NULL", rows, (*OWN, "yahoo err"), [], {})
    _described(report, rows, settings)


def listwise(report: Report, cells: Cells, settings: Settings) -> None:
    """Where listwise trees should stop, with few and with many queries."""
    for name in ("OHSUMED", "MQ2008", "WEB10K sample"):
        rows = methods.listwise(settings.on(name))
        _table(report, cells, name, rows, (*OWN, "leaves"), [], {})
    _described(report, methods.listwise(settings), settings)


TABLES: dict[str, Callable[[Report, Cells, Settings], None]] = {
    "forests": forests,
    "igbrt": igbrt,
    "plrank": plrank,
    "broof": broof,
    "rcrank": rcrank,
    "missing": missing,
    "listwise": listwise,
}

_TITLES = {
    "own ndcg@10": "NDCG@10",
    "own map": "MAP",
    "yahoo ndcg@1": "NDCG@1",
    "yahoo ndcg@3": "NDCG@3",
    "yahoo ndcg@10": "NDCG@10",
    "yahoo err": "ERR",
    "leaves": "leaves per tree",
}


def _table(
    report: Report,
    cells: Cells,
    name: str,
    rows: Sequence[Method],
    measures: Sequence[str],
    paper_columns: Sequence[str],
    paper: Figures,
    source: str = "",
) -> None:
    """Measure a collection and print a row per method; methods without a whole run get dashes."""
    collection = COLLECTIONS[name]
    cells.measure(collection, rows)
    lines = []
    for method in rows:
        runs = cells.runs(collection, method, [*measures, "cpu"])
        figures = paper.get(method.label, [np.nan] * len(paper_columns))
        lines.append(
            [
                method.label,
                *(_mean_and_spread(runs, m) for m in range(len(measures))),
                f"{runs[..., -1].mean():.1f}" if len(runs) else "-",
                str(len(runs)),
                *("-" if np.isnan(value) else f"{value:.4f}" for value in figures),
            ]
        )
    first = measures[0].split()[0]
    report.table(
        ["", *(_TITLES[m] for m in measures), "CPU s", "runs", *paper_columns],
        lines,
        caption=f"{name}, preset {collection.preset if first == 'own' else first}{source}",
    )


def _mean(runs: Any) -> str:
    return f"{runs.mean():.4f}" if len(runs) else "-"


def _mean_and_spread(runs: Any, measure: int) -> str:
    """Mean over runs and folds, and the standard deviation of the runs' means."""
    if not len(runs):
        return "-"
    by_run = runs[..., measure].mean(axis=1)
    digits = 1 if by_run.mean() > 2 else 4
    spread = f" ± {by_run.std(ddof=1):.{digits}f}" if len(by_run) > 1 else ""
    return f"{by_run.mean():.{digits}f}{spread}"


def _described(report: Report, rows: Sequence[Method], settings: Settings) -> None:
    if settings.sample_share != 1:
        part = f"{100 * settings.sample_share:g} %"
        report.note(f"On the WEB10K sample {part} of the numbers of trees and iterations below.")
    report.note(
        "Means of five folds, ± the standard deviation over runs (seeds 0, 1, ...); methods that "
        "do not depend on the seed have one run. CPU seconds are of one fit. Settings:\n\n"
        + "\n".join(f"- {method.label}: {method.describe()}" for method in rows)
    )
