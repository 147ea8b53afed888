"""Text forms of a comparison: aligned text, Markdown, LaTeX, HTML and JSON.

All forms are made of the same ``TextTable``: a header, rows of texts and notes below.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from rankgrove._counts import counted
from rankgrove._html import html_table
from rankgrove.experiments.frames import by_fold, by_ranker, by_setting, by_test
from rankgrove.experiments.paper_tests import paper_tests
from rankgrove.experiments.results import ComparisonResults, RankerResult
from rankgrove.experiments.specs import naive_label
from rankgrove.metrics.parameters import format_value
from rankgrove.metrics.parsing import metric as as_metric

BETTER, WORSE = "▲", "▼"
BY_ORDER = "*"  # the order of rows decides the value
_BLANK = "\u00a0"  # keeps numbers aligned where plain blanks at the end are dropped
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    BETTER: r"$\blacktriangle$",
    WORSE: r"$\blacktriangledown$",
    "−": "$-$",
    "µ": r"\textmu{}",
    "…": r"\ldots{}",
    "≤": r"$\leq$",
    "<": "$<$",
    ">": "$>$",
}


@dataclass(frozen=True)
class TextTable:
    """One table of texts; the first column is left-aligned, the others are right-aligned."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    leading: frozenset[tuple[int, int]] = frozenset()  # row and column of the values of first tiers


@dataclass(frozen=True)
class MoreTables:
    """Which tables follow those of means and of the baseline: of folds, settings, papers' tests."""

    folds: bool = False
    settings: bool = False
    tests: bool = False


def text_tables(comparison: ComparisonResults, more: MoreTables = MoreTables()) -> list[TextTable]:
    """The tables of a comparison, for each data set: means, the baseline, and more if asked."""
    found = []
    for data in comparison.datasets:
        found.append(_main_table(comparison, data))
        if comparison.baseline is not None:
            found.append(_baseline_table(comparison, data))
        if more.folds:
            found.append(_fold_table(comparison, data))
        if more.settings:
            found += setting_tables(comparison, data)
        if more.tests:
            found += paper_test_tables(comparison, data, folds=more.folds)
    return found


def convention(comparison: ComparisonResults) -> list[str]:
    """Return the legend of a table's signs, in sentences."""
    test = {"randomisation": "paired randomisation test", "t": "paired t test"}.get(
        comparison.significance.test, "Wilcoxon signed-rank test"
    )
    alpha = comparison.significance.alpha
    study = comparison.study
    seeds = f", averaged over {study['repeats']} seeds" if study["repeats"] > 1 else ""
    sentences = [
        f"Values are means over the test queries of all folds{seeds}. Rankers that share a letter "
        f"do not differ significantly ({test} on queries, Holm-corrected over all pairs, "
        f"p > {alpha:g}), whatever their order in the table.",
    ]
    names = " and ".join(comparison.short_names[name] for name in comparison.over_documents)
    if names:
        sentences.append(
            f"{names}: also means of the queries' values, which the tests compare; `evaluate` "
            "measures all documents together."
        )
    if comparison.baseline is not None:
        sentences.append(
            f"{BETTER} significantly better, {WORSE} significantly worse than the baseline "
            f"{comparison.baseline}: no letter in common."
        )
    if any(len(ranker["settings"]) > 1 for ranker in study["rankers"]):
        sentences.append(
            f"Of a grid, each fold reports the setting with the best {_short(comparison)} on its "
            "validation part."
        )
    for data in comparison.datasets:
        sentences += _naive_twins(comparison, data)
    return [*sentences, f"Metrics in full: {'; '.join(_in_full(comparison))}."]


def _naive_twins(comparison: ComparisonResults, data: str) -> list[str]:
    """State for each ranker with a position bias whether it differs from its naive twin."""
    sentences = []
    names = [result.ranker for result in comparison.results(data) if not result.failure]
    for name in names:
        twin = naive_label(name)
        found, table = comparison.pairs(data, baseline=twin) if twin in names else (names, None)
        if table is None:
            continue
        i = table.first.tolist().index(found.index(name))
        better = comparison.sign(comparison.metrics[0]) * table.difference[i] > 0
        real = table.p_holm[i] <= comparison.significance.alpha
        p_value = _p_value(table.p_holm[i], 4)
        p = f"p {p_value}" if p_value.startswith("<") else f"p = {p_value}"
        verdict = (
            f"significantly {'better' if better else 'worse'}"
            if real
            else "no significant difference"
        )
        sentences.append(
            f"{data}: {name} against its naive twin, {_short(comparison)} "
            f"{_signed(float(table.difference[i]))}, {p} (Holm): {verdict}. "
            "If the test labels are clicks, they favour the ranking that was shown."
        )
    return sentences


def _short(comparison: ComparisonResults) -> str:
    return comparison.short_names[comparison.metrics[0]]


def _in_full(comparison: ComparisonResults) -> list[str]:
    """Return every metric with all its parameters."""
    texts = []
    for name, short in comparison.short_names.items():
        params = as_metric(name).params
        params.pop("k", None)
        said = ", ".join(f"{key} {format_value(value)}" for key, value in params.items())
        texts.append(f"{short} ({said})" if said else short)
    return texts


def as_text(comparison: ComparisonResults) -> str:
    """All tables as aligned text."""
    parts = []
    for table in text_tables(comparison):
        rows = [list(table.columns), *map(list, table.rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                text.ljust(width) if place == 0 else text.rjust(width)
                for place, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        parts.append("\n".join([table.title, *lines, *table.notes]))
    return "\n\n".join([*parts, "\n".join(convention(comparison))])


def as_markdown(comparison: ComparisonResults, more: MoreTables = MoreTables()) -> str:
    """All tables in Markdown."""
    parts = []
    for table in text_tables(comparison, more):
        rule = "|:---" + "|---:" * (len(table.columns) - 1) + "|"
        lines = [_markdown_row(table.columns), rule, *map(_markdown_row, table.rows)]
        parts += [f"**{_markdown_text(table.title)}**", "\n".join(lines)]
        parts += map(_markdown_text, table.notes)
    return "\n\n".join([*parts, *map(_markdown_text, convention(comparison))]) + "\n"


def as_latex(comparison: ComparisonResults, more: MoreTables = MoreTables()) -> str:
    """All tables in LaTeX, for the packages booktabs and amssymb.

    Values of the first tier are bold. Captions are short; what the signs mean stands below the
    first table.
    """
    parts = []
    for number, table in enumerate(text_tables(comparison, more)):
        header = " & ".join(map(_latex_text, table.columns))
        rows = [
            " & ".join(
                rf"\textbf{{{_latex_text(cell)}}}"
                if (place, column) in table.leading
                else _latex_text(cell)
                for column, cell in enumerate(row)
            )
            + r" \\"
            for place, row in enumerate(table.rows)
        ]
        below = [*table.notes, *(convention(comparison) if number == 0 else [])]
        text = _latex_text(" ".join(note if note.endswith(".") else f"{note}." for note in below))
        notes = [rf"\par\smallskip\footnotesize {text}"] if below else []
        parts.append(
            "\n".join(
                [
                    r"\begin{table}",
                    rf"\caption{{{_latex_text(table.title)}}}",
                    rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
                    r"\toprule",
                    rf"{header} \\",
                    r"\midrule",
                    *rows,
                    r"\bottomrule",
                    r"\end{tabular}",
                    *notes,
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(parts) + "\n"


def as_html(comparison: ComparisonResults) -> str:
    """All tables in HTML, for notebooks."""
    parts = [
        html_table(table.title, table.columns, table.rows) for table in text_tables(comparison)
    ]
    notes = "".join(f"<p>{escape(text)}</p>" for text in convention(comparison))
    return "".join(parts) + notes


def as_json(comparison: ComparisonResults) -> dict[str, Any]:
    """Return the comparison as values for JSON."""
    ranker, settings = None, None
    with contextlib.suppress(ValueError):
        ranker, settings = comparison.best()
    return {
        "study": comparison.study,
        "significance": vars(comparison.significance),
        "results": by_ranker(comparison),
        "folds": by_fold(comparison),
        "settings": by_setting(comparison),
        "tests": by_test(comparison),
        "best_on_validation": {"ranker": ranker, "params": settings},
    }


FORMATS: dict[str, Callable[..., str]] = {"markdown": as_markdown, "latex": as_latex}


def _main_table(comparison: ComparisonResults, data: str) -> TextTable:
    all_costs = _costs(comparison.results(data))
    columns = ["ranker", *comparison.short_names.values(), *all_costs]
    rows: list[list[str]] = []
    notes: list[str] = []
    leading: set[tuple[int, int]] = set()
    for i, result in enumerate(comparison.results(data)):
        costs = [texts[i] for texts in all_costs.values()]
        if result.failure:
            notes.append(f"{result.ranker} failed: {result.failure}")
            rows.append([result.ranker, *("failed" for _ in comparison.metrics), *costs])
            continue
        letters = {name: _letters(comparison, data, name, result) for name in comparison.metrics}
        leading |= {
            (len(rows), column)
            for column, name in enumerate(comparison.metrics, 1)
            if result.leading[name]
        }
        by_order = result.tie_free_values
        rows.append([result.ranker + (BY_ORDER if by_order else ""), *letters.values(), *costs])
        if by_order:
            notes.append(order_note(comparison, result))
    sizes = sum(len(comparison.queries(data, fold).ids) for fold in comparison.folds(data))
    n_folds = len(comparison.folds(data))
    title = f"{data}: {counted(sizes, 'test query')} in {counted(n_folds, 'fold')}"
    return TextTable(title, columns, rows, notes, frozenset(leading))


def _costs(results: Sequence[RankerResult]) -> dict[str, list[str]]:
    """Return the columns of times and memory with the texts of all rows, without empty columns."""
    columns: dict[str, tuple[list[float | None], int]] = {
        "fit s": ([r.fit_seconds for r in results], 2),
        "µs/doc": ([r.score_microseconds for r in results], 2),
        "MB": ([None if r.peak_memory is None else r.peak_memory / 2**20 for r in results], 0),
    }
    return {
        name: [_number(value, digits) for value in values]
        for name, (values, digits) in columns.items()
        if any(value is not None for value in values)
    }


def order_note(comparison: ComparisonResults, result: RankerResult) -> str:
    """Return the note on values that depend on the order of rows with equal scores."""
    names = comparison.short_names
    values = (f"{names[name]} {value:.4f}" for name, value in result.tie_free_values.items())
    return (
        f"{BY_ORDER} {result.ranker} has equal scores, whose order is that of the rows; on average "
        f"over all orders it has {', '.join(values)}"
    )


def _letters(comparison: ComparisonResults, data: str, metric: str, result: RankerResult) -> str:
    width = max(len(other.tiers[metric]) for other in comparison.results(data))
    mark = {1: BETTER, -1: WORSE}.get(result.marks[metric], _BLANK)
    mark = mark if comparison.baseline is not None else ""
    return f"{result.values[metric]:.4f} {result.tiers[metric]:{_BLANK}<{width}}{mark}"


def _baseline_table(comparison: ComparisonResults, data: str) -> TextTable:
    metric = comparison.metrics[0]
    names, table = comparison.pairs(data, baseline=comparison.baseline)
    title = f"{data}: {_short(comparison)} against {comparison.baseline}"
    columns = ["ranker", "difference", "95% interval", "p (Holm)", "effect d", "win/tie/loss"]
    if table is None:
        return TextTable(title, columns, [], ["there is nothing to compare"])
    sign = comparison.sign(metric)
    rows = [
        [
            names[table.first[i]],
            _signed(table.difference[i]),
            f"{_signed(table.low[i])} … {_signed(table.high[i])}",
            _p_value(table.p_holm[i], 3),
            _signed(table.effect[i], 2),
            f"{table.wins[i]}/{table.ties[i]}/{table.losses[i]}",
        ]
        for i in np.argsort(-sign * table.difference, kind="stable").tolist()
    ]
    return TextTable(title, columns, rows)


def _fold_table(comparison: ComparisonResults, data: str) -> TextTable:
    metric, folds = comparison.metrics[0], comparison.folds(data)
    marks = {fold: _fold_marks(comparison, data, fold) for fold in folds}
    rows = [
        [
            result.ranker,
            *(
                f"{value:.4f}{marks[fold].get(result.ranker, ' ')}"
                for fold, value in zip(folds, result.fold_values[metric], strict=True)
            ),
        ]
        for result in comparison.results(data)
        if not result.failure
    ]
    columns = ["ranker", *(f"fold {fold}" for fold in folds)]
    notes = (
        [f"{BETTER} and {WORSE} of a fold: the same tests on the queries of this fold alone."]
        if any(marks.values())
        else []
    )
    return TextTable(f"{data}: {_short(comparison)} by fold", columns, rows, notes)


def setting_tables(comparison: ComparisonResults, data: str) -> list[TextTable]:
    """A table for each ranker with a grid: every setting, with its test means over folds."""
    found = []
    for ranker in comparison.rankers:
        points = [
            row for row in by_setting(comparison) if (row["data"], row["ranker"]) == (data, ranker)
        ]
        varied = [
            name
            for name in (points[0]["params"] if points else ())
            if len({str(row["params"][name]) for row in points}) > 1
        ]
        if not varied:
            continue
        rows = [
            [
                ", ".join(f"{name}={row['params'][name]}" for name in varied),
                *(_number(row.get(metric), 4) for metric in comparison.metrics),
            ]
            for row in points
        ]
        title = f"{data}: settings of {ranker}, means of the folds' test parts"
        found.append(TextTable(title, ["setting", *comparison.short_names.values()], rows))
    return found


def paper_test_tables(comparison: ComparisonResults, data: str, *, folds: bool) -> list[TextTable]:
    """The t test and Wilcoxon's test side by side against the baseline, for every metric."""
    columns = ["ranker", "difference", "t: p better", "t: p", "Wilcoxon: p better", "Wilcoxon: p"]
    note = (
        "p better is one-sided, as LETOR's script prints it: small where the ranker is better; the "
        "others are two-sided; none is corrected. Marks: * by Wilcoxon, + by t at "
        f"{comparison.significance.alpha:g}, - before them: worse, =: neither."
    )
    found = []
    for metric in comparison.metrics:
        for fold in [None, *(comparison.folds(data) if folds else [])]:
            rows = [
                [
                    test.ranker,
                    _signed(test.difference),
                    *(_p_value(p, 4) for p in (test.t_better, test.t)),
                    *(_p_value(p, 4) for p in (test.wilcoxon_better, test.wilcoxon)),
                    test.mark,
                ]
                for test in paper_tests(comparison, data, metric, fold)
            ]
            where = "" if fold is None else f", fold {fold}"
            title = f"{data}{where}: {comparison.short_names[metric]} against {comparison.baseline}"
            if rows:
                found.append(TextTable(f"{title}, tests of papers", [*columns, "mark"], rows))
    if found:
        found[0] = replace(found[0], notes=[note])
    return found


def _fold_marks(comparison: ComparisonResults, data: str, fold: int) -> dict[str, str]:
    if comparison.baseline is None:
        return {}
    names, table = comparison.pairs(data, baseline=comparison.baseline, fold=fold)
    if table is None:
        return {}
    sign = comparison.sign(comparison.metrics[0])
    return {
        names[first]: (BETTER if sign * table.difference[i] > 0 else WORSE)
        for i, first in enumerate(table.first.tolist())
        if table.p_holm[i] <= comparison.significance.alpha
    }


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _p_value(p: float, digits: int) -> str:
    """Write a p-value, or that it is too small for so many digits: it is never 0."""
    least = 10.0**-digits
    return f"< {least:.{digits}f}" if p < least else f"{p:.{digits}f}"


def _signed(value: float, digits: int = 4) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_markdown_text(cell.strip()) for cell in cells) + " |"


def _markdown_text(text: str) -> str:
    """Return text with Markdown's special characters escaped."""
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", escape(text, quote=False))


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text.strip())
