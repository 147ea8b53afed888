"""Describe a data file or a model file.

For data: rows, queries, features, a histogram of the grades, documents per query, missing values,
constant features, and common problems. For a model: its kind, size, columns and parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import file_path, printable
from rankgrove._counts import counted
from rankgrove.cli.options import add_data_options, add_json_option, data_options, load_data
from rankgrove.cli.output import escape, print_json, show, table
from rankgrove.cli.paths import data_path

if TYPE_CHECKING:
    from rankgrove.data.core.description import Description

EXAMPLES = """\
  rankgrove info train.txt
  rankgrove info judgments.parquet --label rating --query query_id
  rankgrove info train.txt.gz --json | jq .grades
  rankgrove info model.rg
"""

_LISTED_NAMES = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "data",
        metavar="DATA",
        type=data_path,
        help="the data file, or a model file; -: standard input",
    )
    add_json_option(parser)
    add_data_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    if _is_model(arguments.data):
        for name in data_options(arguments):
            raise ValueError(
                f"--{name.replace('_', '-')} has no effect on a model: {printable(arguments.data)} "
                "is a model file"
            )
        _describe_model(arguments)
        return
    from rankgrove.data.core.description import describe
    from rankgrove.metrics.file_order import file_order

    data = load_data(arguments.data, arguments, **({} if arguments.ignore else {"ignore": "texts"}))
    description = describe(data)
    order = file_order(data.y, data.groups)
    if arguments.json:
        print_json({**description.to_dict(), "constant_score": vars(order)})
    else:
        _show(printable(arguments.data), description)
        if order.predicts_labels:
            show(f"[yellow]warning:[/yellow] {order}; metrics with ties=input reward it")


def _is_model(path: str) -> bool:
    from rankgrove.formats.container import MAGIC

    place = file_path(path)
    if not place.is_file():  # a pipe can be read only once
        return False
    if place.suffix == ".rg":  # a damaged one, too: the error is that of a model
        return True
    with place.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _describe_model(arguments: argparse.Namespace) -> None:
    from rankgrove import load_model
    from rankgrove.data.core.columns import Columns

    model = load_model(arguments.data)
    columns = Columns.of(model)
    found = {
        "ranker": model.ranker_name,
        "size": model.model_.size,
        "steps": model.model_.n_steps,
        "features": columns.count,
        "feature_names": columns.names,
        "categories": {
            columns.all_names[j]: {"values": list(known.values), "n_pooled": len(known.pooled)}
            for j, known in columns.categories.items()
        },
        "absent": model.model_.absent,
        "provenance": model.provenance_,
        "parameters": model.get_params(deep=False),
    }
    bias = getattr(model, "position_bias_", None)
    if bias is not None:
        found["position_bias"] = {name: values.tolist() for name, values in bias.items()}
    if arguments.json:
        print_json(found, otherwise=repr)
        return
    show(
        f"[bold]{escape(printable(arguments.data))}[/bold]: {found['ranker']} model of "
        f"{found['size']}, {columns.count:,} features"
    )
    _show_names("features", list(columns.names or ()))
    for j, known in columns.categories.items():
        names = [repr(value) for value in known.values[:10]]
        more = len(known.values) - len(names)
        pooled = f", and {len(known.pooled):,} rare ones as one" if known.pooled else ""
        tail = f", ... ({more:,} more)" if more else ""
        show(escape(f"categories of {columns.all_names[j]}: {', '.join(names)}{tail}{pooled}"))
    for name, value in _flat(model.provenance_ or {}):
        show(escape(f"{name}: {value}"))
    rows = [(name, escape(repr(value))) for name, value in found["parameters"].items()]
    show(table(["parameter", "value"], rows))
    if bias is not None:
        numbers = zip(*found["position_bias"].values(), strict=True)
        show(table(list(bias), [[f"{number:.6g}" for number in row] for row in numbers]))


def _flat(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the lines of a provenance."""
    for name, value in record.items():
        if name == "ranges":  # one per feature: --json prints them
            continue
        if name == "files":
            for file in value:
                size = f", {file['bytes']:,} bytes, {file['digest']}" if "digest" in file else ""
                yield "file", f"{file.get('name')}{size}"
        elif isinstance(value, dict):
            yield name, ", ".join(f"{key} {_fact(fact)}" for key, fact in value.items())
        else:
            yield name, str(value)


def _fact(value: Any) -> str:
    """Return a value of a provenance's table as text: a number, a text, or counts by grade."""
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key}: {_fact(count)}" for key, count in value.items()) + ")"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,.6g}" if number else str(value)


def _show(path: str, found: Description) -> None:
    show(
        f"[bold]{escape(path)}[/bold]: {counted(found.rows, 'row')}, "
        f"{counted(found.queries, 'query')}, {counted(found.features, 'feature')}"
    )
    total = max(found.rows, 1)
    largest = max(found.grades.values(), default=1)
    rows = [
        (grade, f"{count:,}", f"{count / total:.1%}", _bar(count / largest))
        for grade, count in found.grades.items()
    ]
    grades = table(["grade", "rows", "share", ""], rows)
    grades.columns[-1].justify = "left"
    lengths = table(
        ["documents per query", *found.query_lengths],
        [
            (
                "",
                *(
                    f"{value:g}" if value % 1 == 0 else f"{value:.1f}"
                    for value in found.query_lengths.values()
                ),
            )
        ],
    )
    show(grades, lengths)
    show(f"missing: {found.missing_share:.2%} of the entries, zero: {found.zero_share:.2%}")
    _show_names(
        "categorical features",
        [f"{name} ({counted(number, 'value')})" for name, number in found.categories.items()],
    )
    _show_names("constant features", found.constant_features)
    _show_names("near-empty features", found.near_empty_features)
    _show_names(
        "features with missing values",
        [f"{name} ({share:.1%})" for name, share in found.missing_features.items()],
    )
    for warning in found.warnings:
        show(f"[yellow]warning:[/yellow] {escape(warning)}")


def _show_names(title: str, names: list[str]) -> None:
    if names:
        more = f", and {len(names) - _LISTED_NAMES} more" if len(names) > _LISTED_NAMES else ""
        show(escape(f"{title} ({len(names)}): {', '.join(names[:_LISTED_NAMES])}{more}"))


def _bar(share: float, width: int = 30) -> str:
    return "█" * max(round(share * width), 1 if share > 0 else 0)
