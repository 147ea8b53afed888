"""A table per study: what was measured as in the paper and by default, beside what papers say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from _report import Report
from papers import published, rows
from papers.cells import Cells, Method
from papers.collections import COLLECTIONS, Collection
from papers.rows import Row, Settings
from rankgrove.experiments.paper_tests import paper_mark
from rankgrove.experiments.significance import paired_t

OWN = ("own ndcg@10", "own map")
Figures = Mapping[str, Sequence[float]]
OTHER_DATA = "; the paper's own figures are of other data"
ALL_DATA = ("MQ2008", "OHSUMED", "WEB10K sample")

TITLES = {
    "own ndcg@10": "NDCG@10",
    "own map": "MAP",
    "yahoo ndcg@1": "NDCG@1",
    "yahoo ndcg@3": "NDCG@3",
    "yahoo ndcg@10": "NDCG@10",
    "yahoo err": "ERR",
    "ranklib ndcg@10": "NDCG@10",
    "rmse": "RMSE",
    "leaves": "leaves per tree",
}


def forests(report: Report, cells: Cells, settings: Settings) -> None:
    """Ibrahim and Carman, tables V, X, XV and XVII, with LETOR's one-sided p-values."""
    systems = rows.forests(settings)
    for name in settings.chosen("MQ2008", "OHSUMED"):
        paper = {
            method: [*(one or (np.nan, np.nan)), *five]
            for (collection, method), (one, five) in published.FORESTS.items()
            if collection == name
        }
        columns = ["V, X: NDCG@10", "V, X: MAP", "XV: NDCG@10", "XV: MAP"]
        table(report, cells, name, systems, OWN, columns, paper)
        _folds(report, cells, name, systems)
    described(report, systems, cells, settings)


def _folds(report: Report, cells: Cells, name: str, systems: Sequence[Row]) -> None:
    """Table XVII: folds of RF-point and RF-list as in the paper, and LETOR's p-values."""
    collection, lines = COLLECTIONS[name], []
    point, listwise = (system.as_in_paper for system in systems[:2])
    for m, measure in enumerate(OWN):
        values = [cells.by_query(collection, method, measure) for method in (point, listwise)]
        if not all(values):
            continue
        for label, folds, ranker in (
            ("RF-point", values[0], "rf-point"),
            ("RF-list", values[1], "rf-list"),
        ):
            means = [f"{np.nanmean(fold):.4f}" for fold in folds]
            lines.append([f"{label} {TITLES[measure]}", *means])
            paper = published.FOREST_FOLDS[name, ranker][m]
            lines.append(["  paper", *(f"{value:.4f}" for value in paper)])
        p_values = [one_sided_t(b, a) for a, b in zip(*values, strict=True)]
        lines.append([f"p-value {TITLES[measure]}", *(f"{p:.4f}" for p in p_values)])
        paper_p = published.FOREST_P_VALUES[name][m]
        lines.append(["  paper", *(f"{p:.4f}" for p in paper_p)])
        whole = one_sided_t(np.concatenate(values[1]), np.concatenate(values[0]))
        lines.append([f"p-value {TITLES[measure]}, all queries", f"{whole:.4f}", *[""] * 4])
    columns = ["", *(f"Fold{i}" for i in range(1, 6))]
    if lines:
        report.table(columns, lines, caption=f"{name} by fold, beside table XVII")


def algorithms(report: Report, cells: Cells, settings: Settings) -> None:
    """Ibrahim and Carman, tables XI, XIII and XIV, figure 9: all algorithms of appendix F. The
    paper's data are the whole of WEB10K."""
    for name in settings.chosen(*ALL_DATA):
        systems = rows.all_algorithms(settings.on(name), COLLECTIONS[name].bm25)
        measures = ("own ndcg@10", "yahoo err", "own map")
        columns = ["WEB10K: NDCG@10", "WEB10K: ERR", "WEB10K: MAP"]
        table(report, cells, name, systems, measures, columns, published.ALGORITHMS, OTHER_DATA)
        _pairs(report, cells, name, systems)
    described(report, rows.all_algorithms(settings, None), cells, settings)
    report.note(
        "BM25 is the feature of the whole document: number 25 of MQ2008, 41 of OHSUMED (title and "
        "abstract), 110 of WEB10K; the better of its two directions on training data counts."
    )


def _pairs(report: Report, cells: Cells, name: str, systems: Sequence[Row]) -> None:
    """Table XIV: which differences of NDCG@10 are significant."""
    chosen = [s for s in systems if s.label in ("RF-point", "RF-hybrid-L6", "Mart", "LambdaMart")]
    values = {s.label: cells.by_query(COLLECTIONS[name], s.as_in_paper, OWN[0]) for s in chosen}
    lines = []
    if not any(values.values()):
        return
    for first in values:
        line = [first]
        for second in values:
            if not values[first] or not values[second] or first == second:
                line.append("")
                continue
            p = one_sided_t(np.concatenate(values[first]), np.concatenate(values[second]))
            line.append(f"{p:.4f}")
        lines.append(line)
    caption = f"{name}: p-value of the one-sided t-test that the row beats the column (table XIV)"
    report.table(["", *values], lines, caption=caption)


def igbrt(report: Report, cells: Cells, settings: Settings) -> None:
    """Mohan, Chen and Weinberger, table 3, with RMSE. The paper's data are not available: the
    methods are compared on other data; the paper's figures show its order of the methods."""
    sets = ("Yahoo 1", "Yahoo 2", "MSLR")
    columns = [f"{name}: {measure}" for name in sets for measure in ("ERR", "NDCG")]
    for name in settings.chosen(*ALL_DATA):
        measures = ("yahoo err", "yahoo ndcg@10", "rmse")
        systems = rows.igbrt(settings.on(name))
        table(report, cells, name, systems, measures, columns, published.IGBRT, OTHER_DATA)
    described(report, rows.igbrt(settings), cells, settings)


def plrank(report: Report, cells: Cells, settings: Settings) -> None:
    """Xia, Zhai and Wang, table 1. The paper's data are not available: the methods are compared on
    other data; the paper's figures show its order of the methods."""
    measures = ("yahoo ndcg@1", "yahoo ndcg@3", "yahoo ndcg@10", "yahoo err")
    paper = {
        label: [*figures, *published.PLRANK_MICROSOFT.get(label, [np.nan] * 4)]
        for label, figures in published.PLRANK_YAHOO.items()
    }
    columns = [f"{name}: {TITLES[m]}" for name in ("Yahoo", "Microsoft 30K") for m in measures]
    for name in settings.chosen(*ALL_DATA):
        systems = rows.plrank(settings.on(name))
        table(report, cells, name, systems, measures, columns, paper, OTHER_DATA)
    described(report, rows.plrank(settings), cells, settings)


def broof(report: Report, cells: Cells, settings: Settings) -> None:
    """De Sa, Goncalves, Sousa and Salles, tables 3 and 2, with their two tests against the
    strongest of their baselines (`*`: Wilcoxon, `+`: t-test, `-` before: worse, `=`: neither). The
    paper's data are not available: the methods are compared on other data."""
    columns = ["WEB10K: NDCG@10", "WEB10K: MAP", "Yahoo 2: NDCG@10", "Yahoo 2: MAP"]
    for name in settings.chosen(*ALL_DATA):
        systems = rows.broof(settings.on(name))
        table(report, cells, name, systems, OWN, columns, published.BROOF, OTHER_DATA)
        _tests(report, cells, name, systems)
    described(report, rows.broof(settings), cells, settings)


def _tests(report: Report, cells: Cells, name: str, systems: Sequence[Row]) -> None:
    collection, lines = COLLECTIONS[name], []
    for measure in OWN:
        values = {s.label: cells.by_query(collection, s.as_in_paper, measure) for s in systems}
        found = {label: np.concatenate(folds) for label, folds in values.items() if folds}
        baselines = {
            label: folds
            for label, folds in found.items()
            if "BROOF" not in label and label not in ("one feature", "random order")
        }
        if not baselines:
            continue
        strongest = max(baselines, key=lambda label: np.nanmean(baselines[label]))
        tested = {
            label: paper_mark(differences(folds, baselines[strongest]))
            for label, folds in found.items()
            if "BROOF" in label
        }
        words = [f"{label} {mark}" for label, mark in tested.items()]
        lines.append([TITLES[measure], strongest, "; ".join(words)])
    if lines:
        columns = ["", "strongest baseline", "BROOF against it"]
        report.table(columns, lines, caption=f"{name}: tests")


# Rankers whose grids of leaves and learning rates are measured.
_GRIDS = ("rcrank", "lambdamart")


def rcrank(report: Report, cells: Cells, settings: Settings) -> None:
    """Modry and Ferov, table 3, on a sample of their data and on MQ2008: labels from 1 on, as they
    have them, and from 0 on."""
    for name in settings.chosen("MQ2008", "WEB10K sample"):
        for shift, labels in ((1, "from 1 on, as in the paper"), (0, "from 0 on")):
            caption = f"{name}: NDCG@10, labels {labels}"
            paper = published.RCRANK if shift and name == "WEB10K sample" else {}
            rcrank_grid(report, cells, settings, name, caption, paper, shift=shift)
    described(report, [rows.rcrank(name, 64, 0.11, 1) for name in _GRIDS], cells, settings)
    report.note("Means of five folds; no sampling, one seed. NDCG as RankLib computes it.")


def rcrank_small(report: Report, cells: Cells, settings: Settings) -> None:
    """Modry and Ferov, tables 4 and 5: a tenth of the training queries, then also only those 50
    features (here 20 of MQ2008's 46) that LambdaMART splits on most often. And section 4.3: a 70th
    of the queries, and the share of the quality that remains."""
    for name in settings.chosen("MQ2008", "WEB10K sample"):
        n_features = 20 if name == "MQ2008" else 50
        views = [
            ("a tenth of the queries, all features (table 4)", 0.1, None, published.RCRANK_TENTH),
            (
                f"a tenth of the queries, {n_features} features (table 5)",
                0.1,
                n_features,
                published.RCRANK_FEATURES,
            ),
        ]
        if name == "MQ2008":  # of the sample, a 70th is one query
            views.append(("a 70th of the queries, all features (section 4.3)", 1 / 70, None, {}))
        for what, share, n, paper in views:
            caption = f"{name}: NDCG@10, labels from 1 on, {what}"
            figures = paper if name == "WEB10K sample" else {}
            rcrank_grid(report, cells, settings, name, caption, figures, shift=1, share=share, n=n)
        _rcrank_losses(report, cells, settings, name, [view[:3] for view in views])
    described(report, [rows.rcrank(name, 64, 0.11, 1, 0.1) for name in _GRIDS], cells, settings)


def _rcrank_losses(
    report: Report,
    cells: Cells,
    settings: Settings,
    name: str,
    views: Sequence[tuple[str, float, int | None]],
) -> None:
    """Section 4.3: the best of each grid, and the mean change by fewer queries or features."""
    rates = settings.rates(published.RCRANK_RATES)

    def grid(ranker: str, share: float, n: int | None) -> Any:
        """Return the figures of a grid as they are printed; NaN where one was not measured."""
        sizes = [leaves for other, leaves in published.RCRANK if other == ranker]
        systems = [rows.rcrank(ranker, m, r, 1, share, n) for m in sizes for r in rates]
        runs = [cells.runs(COLLECTIONS[name], s.as_in_paper, ["ranklib ndcg@10"]) for s in systems]
        return np.array([round(run.mean(), 4) if len(run) else np.nan for run in runs])

    lines = []
    for what, share, n in [("all queries and features (table 3)", 1.0, None), *views]:
        base = (1.0, None) if n is None else (share, None)
        best, changes = [], []
        for ranker in _GRIDS:
            values = grid(ranker, share, n)
            best.append(_or_dash("{:.4f}", values.max()))
            change = 100 * (values.mean() / grid(ranker, *base).mean() - 1)
            changes.append("-" if (share, n) == base else _or_dash("{:+.2f} %", change))
        paper = published.RCRANK_LOSSES[what.partition("(")[2].rstrip(")")]
        lines.append([what, *best, *changes, *paper])
    columns = ["best RCRank", "best LambdaMART", "change of RCRank", "change of LambdaMART"]
    report.table(
        ["", *columns, *(f"paper, {column}" for column in columns)],
        lines,
        caption=f"{name}: the best of 20 settings, and the mean change by fewer queries (against "
        "all) or by fewer features (against table 4)",
    )


def rcrank_grid(
    report: Report,
    cells: Cells,
    settings: Settings,
    name: str,
    caption: str,
    paper: Mapping[Any, Any],
    **seen: Any,
) -> None:
    """Measure the grid of leaves and learning rates, the outermost rates first."""
    collection, rates = COLLECTIONS[name], settings.rates(published.RCRANK_RATES)
    for rate in dict.fromkeys((rates[0], rates[-1], *rates)):
        for ranker, leaves in published.RCRANK:
            cells.measure(collection, rows.rcrank(ranker, leaves, rate, **seen).methods)
    lines = []
    for ranker, leaves in published.RCRANK:
        systems = [rows.rcrank(ranker, leaves, rate, **seen) for rate in rates]
        for label, methods in (
            ("as in the paper", [system.as_in_paper for system in systems]),
            ("by default", [system.by_default for system in systems]),
        ):
            runs = [cells.runs(collection, method, ["ranklib ndcg@10"]) for method in methods]
            if any(map(len, runs)):
                lines.append([f"{ranker}, {leaves} leaves, {label}", *map(_mean, runs)])
        if (ranker, leaves) in paper:
            figures = paper[ranker, leaves]
            shown = [f"{value:.4f}" for value in figures[: len(rates)]]
            lines.append(["  paper, all of WEB10K", *shown])
    if any("leaves" in line[0] for line in lines):
        report.table(["", *(f"rate {rate}" for rate in rates)], lines, caption=caption)
    else:
        report.note(f"{caption}: not measured.")


def missing(report: Report, cells: Cells, settings: Settings) -> None:
    """Policies for missing values, on LETOR's OHSUMED before normalisation (9 % missing)."""
    for name in settings.chosen("OHSUMED with NULL"):
        plain_table(report, cells, name, rows.missing(settings), (*OWN, "yahoo err"))
    settings_listed(report, rows.missing(settings), cells, settings, "1000 (the paper: 10,000)")


def listwise(report: Report, cells: Cells, settings: Settings) -> None:
    """Rules that may end the growth of listwise trees, beside table XV of Ibrahim and Carman."""
    for name in settings.chosen("OHSUMED", "MQ2008"):
        plain_table(report, cells, name, rows.listwise(settings), (*OWN, "leaves"))
        five = published.FORESTS[name, "rf-list"][1]
        point = published.FORESTS[name, "rf-point"][1]
        report.note(
            f"Table XV on {name}: RF-point {point[0]:.4f} and {point[1]:.4f}, RF-list "
            f"{five[0]:.4f} and {five[1]:.4f}."
        )
    settings_listed(report, rows.listwise(settings), cells, settings, "the paper's 500")


TABLES: dict[str, Callable[[Report, Cells, Settings], None]] = {
    "forests": forests,
    "algorithms": algorithms,
    "igbrt": igbrt,
    "plrank": plrank,
    "broof": broof,
    "rcrank": rcrank,
    "rcrank-small": rcrank_small,
    "missing": missing,
    "listwise": listwise,
}


def table(
    report: Report,
    cells: Cells,
    name: str,
    systems: Sequence[Row],
    measures: Sequence[str],
    paper_columns: Sequence[str],
    paper: Figures,
    source: str = "",
) -> None:
    """Measure a collection and print a row per system; systems without a whole run get dashes."""
    collection = COLLECTIONS[name]
    cells.measure(collection, [s.as_in_paper for s in systems])
    cells.measure(collection, [s.by_default for s in systems])
    if not any(len(cells.runs(collection, s.as_in_paper, measures)) for s in systems):
        report.note(f"{name}: not measured.")
        return
    first = measures[0].split()[0]
    by = collection.preset if first == "own" else first
    titles = [TITLES[measure] for measure in measures]
    papers = [f"paper, {column}" for column in paper_columns]
    ours, default = [], []
    for system in systems:
        figures = paper.get(system.label, [np.nan] * len(paper_columns))
        shown = [_or_dash("{:.4f}", value) for value in figures]
        values, cpu_and_runs = _measured(cells, collection, system.as_in_paper, measures)
        ours.append([system.label, *values, *shown, *cpu_and_runs])
        values, cpu_and_runs = _measured(cells, collection, system.by_default, measures)
        default.append([system.label, *values, *cpu_and_runs])
    report.table(
        ["", *titles, *papers, "CPU s", "runs"],
        ours,
        caption=f"{name}, preset {by}: as in the paper{source}",
    )
    report.table(
        ["", *titles, "CPU s", "runs"], default, caption=f"{name}, preset {by}: by default"
    )


def _measured(
    cells: Cells, collection: Collection, method: Method, measures: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the means of a method, then its CPU seconds and number of runs."""
    runs = cells.runs(collection, method, [*measures, "cpu"])
    cpu = f"{runs[..., -1].mean():.1f}" if len(runs) else "-"
    return [_mean_and_spread(runs, m) for m in range(len(measures))], [cpu, str(len(runs))]


def plain_table(
    report: Report, cells: Cells, name: str, methods: Sequence[Method], measures: Sequence[str]
) -> None:
    """Measure methods on a collection and print a row each."""
    collection = COLLECTIONS[name]
    cells.measure(collection, methods)
    lines = []
    for method in methods:
        values, cpu_and_runs = _measured(cells, collection, method, measures)
        lines.append([method.label, *values, *cpu_and_runs])
    titles = [TITLES[measure] for measure in measures]
    caption = f"{name}, preset {collection.preset}"
    report.table(["", *titles, "CPU s", "runs"], lines, caption=caption)


def settings_listed(
    report: Report, methods: Sequence[Method], cells: Cells, settings: Settings, trees: str
) -> None:
    """Say what the rows of a plain table are; ``trees`` are those of a whole forest."""
    report.note(
        f"Forests have {100 * settings.share:g} % of {trees} trees. Means of five folds, ± the "
        "standard deviation over runs (seeds 0, 1, ...); methods that do not depend on the seed "
        "have one run; a dash was not measured. Where steps are chosen on validation, training "
        f"ends after {cells.stopping_rounds} steps without a better NDCG@10. CPU seconds are of "
        "one fit. Settings:\n\n"
        + "\n".join(f"- {method.label}: {method.describe()}" for method in methods)
    )


def one_sided_t(better: Any, worse: Any) -> float:
    """Return the p-value that LETOR's script prints: ``better`` is no better in the mean."""
    return float(paired_t(differences(better, worse), "greater")[0])


def differences(first: Any, second: Any) -> Any:
    """Return the differences of the queries that count."""
    found = np.asarray(first) - np.asarray(second)
    return found[~np.isnan(found)]


def _or_dash(pattern: str, value: float) -> str:
    return "-" if np.isnan(value) else pattern.format(value)


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


def described(report: Report, systems: Sequence[Row], cells: Cells, settings: Settings) -> None:
    """Say what was trained, as in the paper and by default."""
    if settings.sample_share != 1:
        part = f"{100 * settings.sample_share:g} %"
        report.note(f"On the WEB10K sample {part} of the numbers of trees of forests given below.")
    report.note(
        f"Forests have {100 * settings.share:g} % of the paper's trees. Means of five folds, ± the "
        "standard deviation over runs (seeds 0, 1, ...); methods that do not depend on the seed "
        "have one run; a dash was not measured. Where steps are chosen on validation, training "
        f"ends after {cells.stopping_rounds} steps without a better NDCG@10. CPU seconds are of "
        "one fit. As in the paper:\n\n"
        + "\n".join(f"- {system.label}: {system.describe()}" for system in systems)
        + "\n\nBy default:\n\n"
        + "\n".join(f"- {system.label}: {system.by_default.describe()}" for system in systems)
    )
