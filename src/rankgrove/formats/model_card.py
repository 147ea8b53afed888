"""Model cards: what a model is, what it learnt from, how good it was, and its limits (Markdown)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rankgrove._files import replacing
from rankgrove.data.core.columns import Columns
from rankgrove.metrics.parameters import format_value
from rankgrove.metrics.parsing import metric

_LISTED = 30


def write_model_card(ranker: Any, path: str | os.PathLike[str]) -> None:
    """Write the model card of a fitted ranker, with its provenance if it has one."""
    with replacing(path) as file:
        file.write(model_card(ranker).encode())


def model_card(ranker: Any) -> str:
    """Return the model card of a fitted ranker as Markdown."""
    model = ranker.fitted_model()
    record = ranker.provenance_ or {}
    columns = Columns.of(ranker)
    names = list(columns.names or ())
    ranges = record.get("ranges", {})
    shown = ", ".join(f"`{_code(name)}`{_range(ranges.get(name))}" for name in names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    lines = [
        f"# Model card: {ranker.ranker_name}",
        "",
        f"A ranker of the kind `{ranker.ranker_name}` ({model.size}), trained by rankgrove"
        f" {record.get('version', '')}".rstrip()
        + ".",
        *_facts("Training", _training(record)),
        *_table("Validation", record.get("validation")),
        *_table("Test", record.get("test")),
        "",
        "## Features",
        "",
        f"{columns.count} features" + (f": {shown}{more}." if names else ", without names."),
        "",
        "## Parameters",
        "",
        "| parameter | value |",
        "|---|---|",
        *(
            f"| `{name}` | `{_code(repr(value))}` |"
            for name, value in sorted(ranker.get_params(deep=False).items())
        ),
        "",
        "## Use and limits",
        "",
        "- Scores order the documents of one query; they are not comparable across queries.",
        f"- A missing value: {_missing(ranker)}",
        "- The model knows what its training judgments say. Queries, documents or users that they "
        "do not cover may be ranked worse than the figures above; measure on your own judgments.",
    ]
    if record.get("note"):
        lines += ["", "## Note", "", str(record["note"])]
    return "\n".join(lines) + "\n"


def _range(pair: list[float] | None) -> str:
    """Return the range of a feature in the training data, if it is known."""
    return "" if pair is None else f" ({pair[0]:g} to {pair[1]:g})"


def _training(record: Mapping[str, Any]) -> dict[str, Any]:
    data = record.get("data", {})
    grades = data.get("grades") or {}
    return {
        "date": record.get("date"),
        "build": record.get("build"),
        "continues the model": record.get("parent"),
        "rows": data.get("rows"),
        "queries": data.get("queries"),
        "grades": ", ".join(f"{grade}: {count:,}" for grade, count in grades.items()),
        "digest of labels and queries": data.get("digest"),
        **{
            f"file {file.get('name')}": f"{file['bytes']:,} bytes, {file['digest']}"
            for file in record.get("files", ())
            if "digest" in file
        },
    }


def _facts(title: str, facts: Mapping[str, Any]) -> list[str]:
    known = {name: value for name, value in facts.items() if value}
    if not known:
        return []
    return ["", f"## {title}", "", *(f"- {name}: {_text(value)}" for name, value in known.items())]


def _table(title: str, metrics: Mapping[str, float] | None) -> list[str]:
    if not metrics:
        return []
    rows = [
        f"| {_text(name)} | {_text(_convention(name))} | {value:.4f} |"
        for name, value in metrics.items()
    ]
    head = ["| metric | convention | mean over queries |", "|---|---|---:|"]
    return ["", f"## {title}", "", *head, *rows]


def _convention(name: str) -> str:
    """Return all parameters of a metric but its cut-off; nothing for one that is not known here."""
    try:
        params = metric(name).params
    except ValueError:
        return ""
    return ", ".join(f"{key} {format_value(value)}" for key, value in params.items() if key != "k")


def _missing(ranker: Any) -> str:
    policy = getattr(ranker, "missing", "keep")
    if policy == "keep":
        return "each split sends it to the side that training chose."
    return f"it is replaced as the parameter `missing={policy!r}` says."


def _text(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("\n", " ").replace("|", "\\|")


def _code(text: str) -> str:
    return text.replace("`", "'").replace("\n", " ").replace("|", "\\|")
