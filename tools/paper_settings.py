"""What the papers give a ranker beside its defaults, and what the differences change.

The tables come from the rankers themselves (``Ranker.papers``); what was measured comes from
``benchmarks/results/papers-departures.md`` and, of forests, ``papers-departures-forests.md``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rankgrove.extending import parameter_table, ranker_class

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"

_INTRODUCTION = """\
`{cls}.as_in_paper()` and `rankgrove train {name} --as-in-paper` use {which}.
Parameters that you give override those of the paper. Parameters not listed have their defaults.
"""
_OTHERS = """\
the first of the settings
below; `as_in_paper("{last}")` and `--as-in-paper {last}` choose others by name"""


def settings_section(name: str) -> str:
    """Return the settings of a ranker's papers; "" if it has none."""
    cls = ranker_class(name)
    if not cls.papers:
        return ""
    defaults = {parameter.name: parameter.default for parameter in parameter_table(cls)}
    several = _OTHERS.format(last=[*cls.papers][-1])
    which = "the settings of this paper" if len(cls.papers) == 1 else several
    parts = [_INTRODUCTION.format(cls=cls.__name__, name=name, which=which)]
    for paper, settings in cls.papers.items():
        lines = ["| parameter | paper | default | the paper |", "| --- | --- | --- | --- |"]
        for key, (value, words) in settings.table.items():
            ours = f"`{defaults[key]!r}`"
            if value == defaults[key]:
                ours = "the same"
            lines.append(f"| `{key}` | `{value!r}` | {ours} | {words} |")
        parts.append(f"**`{paper}`**: {settings.source}.\n\n" + "\n".join(lines) + "\n")
        tuned = [f"`{key}` of {_values(values)}" for key, values in settings.tuned.items()]
        if tuned:
            parts.append(f"Tuned on validation data in the paper: {'; '.join(tuned)}.\n")
        if settings.departures:
            parts.append("What remains different:\n")
            parts.append("\n".join(f"- {text}" for text in settings.departures) + "\n")
    return "\n".join([*parts, *_measured(name)])


def _values(values: Any) -> str:
    shown = [str(value) for value in values]
    return ", ".join(shown if len(shown) < 9 else [*shown[:3], "...", shown[-1]])


def _measured(name: str) -> list[str]:
    """Return the rows of a ranker from the tables of departures."""
    for table in ("departures", "departures-forests"):
        path = RESULTS / f"papers-{table}.md"
        text = path.read_text() if path.is_file() else ""
        if found := _rows(name, text):
            what = (
                "The effect of each difference, with all other parameters at their defaults"
                if _departing(name)
                else f"The defaults are those of `{next(iter(ranker_class(name).papers))}`. The "
                "effect of the values that the paper tunes"
            )
            return [
                f"{what}\n"
                f"(`benchmarks/bench_papers.py --table {table}`; "
                f"`benchmarks/results/papers-{table}.md` has the\nsettings; "
                "changes of a few thousandths are noise):\n",
                *found,
            ]
    if not _departing(name):
        return [f"The defaults are those of `{next(iter(ranker_class(name).papers))}`.\n"]
    return []


def _departing(name: str) -> list[str]:
    """Return the parameters whose defaults are not those of the ranker's first paper."""
    cls = ranker_class(name)
    settings = next(iter(cls.papers.values()))
    defaults = {parameter.name: parameter.default for parameter in parameter_table(cls)}
    counts = ("n_estimators", "n_trees", "n_forest_trees")
    return [k for k, v in settings.params.items() if v != defaults[k] and k not in counts]


def _rows(name: str, text: str) -> list[str]:
    """Return the rows of a ranker in each section of a table of departures."""
    found = []
    for section in re.finditer(r"^## (.+)\n\n((?:\|.*\n)+)", text, re.MULTILINE):
        head, rule, *lines = section[2].splitlines()
        kept, inside = [], False
        for line in lines:
            first = line.split("|")[1].strip()
            inside = inside if not first else first.startswith(f"{name}, ")
            if inside:
                kept.append(line)
        if len(kept) > 1:
            found.append(f"{section[1]}:\n\n" + "\n".join([head, rule, *kept]) + "\n")
    return found
