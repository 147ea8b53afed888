"""List the rankers that can be trained.

Shows each ranker's name, family, paper, training objective, and its own parameters with their
defaults (or the ranker of which it is a variant), and the settings of papers by name. `rankgrove
train RANKER --help` lists all parameters. `--papers` shows the settings of papers for
`train --as-in-paper`.
"""

from __future__ import annotations

import argparse
import inspect
from typing import TYPE_CHECKING, Any

from rankgrove.cli.options import add_json_option
from rankgrove.cli.output import escape, print_json, show, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgrove.rankers.base.registry import Registered

EXAMPLES = """\
  rankgrove rankers
  rankgrove rankers --family linear
  rankgrove rankers --papers
  rankgrove rankers --json | jq '.[].name'
"""

# Key parameters of rankers that declare few of their own.
_SHARED = ("n_estimators", "learning_rate", "max_leaf_nodes", "max_features")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from rankgrove.rankers.base.registry import registered

    families = sorted({entry.family for entry in registered().values() if entry.listed})
    parser.add_argument("--family", choices=families, help="only rankers of this family")
    parser.add_argument("--papers", action="store_true", help="show the settings of papers")
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove.rankers.base.registry import registered

    rankers = [
        _as_dict(entry)
        for entry in registered().values()
        if entry.listed and arguments.family in (None, entry.family)
    ]
    if arguments.json:
        print_json(rankers)
        return
    if arguments.papers:
        _show_papers(rankers)
        return
    rows = [
        [
            escape(str(cell))
            for cell in (
                ranker["name"],
                ranker["family"],
                ranker["paper"],
                ranker["optimises"],
                "\n".join(
                    [
                        _listed(ranker["parameters"]),
                        *(f"{name}: {_listed(own)}" for name, own in ranker["variants"].items()),
                    ]
                ),
            )
        ]
        for ranker in rankers
    ]
    _show_texts(["name", "family", "paper", "optimises", "key parameters"], rows)


def _show_papers(rankers: list[dict[str, Any]]) -> None:
    """Show a row per ranker and paper."""
    rows = []
    for ranker in rankers:
        for name, paper in ranker["papers"].items():
            lines = [paper["source"]]
            lines += [
                f"{key}={value} ({paper['said'][key]})" for key, value in paper["params"].items()
            ]
            lines += [f"tuned: {key} of {values}" for key, values in paper["tuned"].items()]
            lines += [f"differs: {departure}" for departure in paper["departures"]]
            rows.append([escape(cell) for cell in (ranker["name"], name, "\n".join(lines))])
    _show_texts(["name", "paper", "settings"], rows)


def _show_texts(columns: list[str], rows: list[list[str]]) -> None:
    shown = table(columns, rows)
    for column in shown.columns:
        column.justify, column.no_wrap = "left", False
        column.overflow, column.min_width = "fold", None
    shown.columns[0].no_wrap = True
    show(shown)


def _listed(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def _as_dict(entry: Registered) -> dict[str, Any]:
    from rankgrove.rankers.base.declaration import parameter_table
    from rankgrove.rankers.base.registry import name_of

    rankers = [cls for cls in entry.cls.__mro__ if name_of(cls) is not None]
    own = {name for cls in rankers for name in inspect.get_annotations(cls)}
    parameters = {
        parameter.name: parameter.default
        for parameter in parameter_table(entry.cls)
        if parameter.name in own or parameter.name in _SHARED
    }
    return {
        "name": entry.name,
        "class": entry.cls.__name__,
        "family": entry.family,
        "paper": entry.paper,
        "optimises": entry.optimises,
        "parameters": {
            name: value if isinstance(value, str | int | float | None) else repr(value)
            for name, value in parameters.items()
        },
        "variants": {name: dict(own) for name, own in entry.variants.items()},
        "papers": {
            name: {
                "source": settings.source,
                "params": settings.params,
                "said": {key: words for key, (_, words) in settings.table.items()},
                "tuned": {key: list(values) for key, values in settings.tuned.items()},
                "departures": list(settings.departures),
            }
            for name, settings in entry.papers.items()
        },
    }
