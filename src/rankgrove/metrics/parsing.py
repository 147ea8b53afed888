"""Parsing of metric names such as ``ndcg@10`` or ``ndcg@5(gain=linear,empty=skip)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from rankgrove.metrics.metric import Metric
from rankgrove.metrics.presets import preset_params
from rankgrove.metrics.python_metric import plain_metric
from rankgrove.metrics.registry import metric_class

_TEXT = re.compile(
    r"\s*(?P<name>[A-Za-z][A-Za-z0-9_-]*)\s*(?:@\s*(?P<k>[^()\s]+)\s*)?(?:\((?P<options>.*)\))?\s*"
)


def metric(
    text: str | Metric | Callable[..., Any], preset: str | None = None, **params: Any
) -> Metric:
    """Parse a metric such as ``ndcg@10``, ``map`` or ``ndcg@5(gain=linear,empty=skip)``.

    Parameters
    ----------
    text : name, cut-off and options; a Metric is taken as it is, and a function, ``f(labels in
        ranked order)`` or ``f(labels, scores)`` of one query, becomes a metric of its own name
    preset : conventions of another tool (see ``rankgrove.metrics.presets``) for all parameters that
        are not given
    params : further parameters, by name
    """
    if callable(text) and not isinstance(text, Metric):
        text = plain_metric(text)
    if isinstance(text, Metric):
        if preset is not None:
            raise ValueError(f"a preset needs the name of a metric, not the ready {text!r}")
        return text.replace(**params) if params else text
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None or "," in (match["k"] or ""):
        raise ValueError(
            f"cannot read the metric {text!r}: write it as name, name@k or "
            "name@k(option=value,...), and several as a list, or separated by blanks on "
            "the command line"
        )
    family = metric_class(match["name"])
    given = _read_options(text, match["options"])
    if match["k"] is not None:
        given["k"] = match["k"]
    for key, value in params.items():
        if key in given:
            raise ValueError(f"{key} is given twice: in {text!r} and as {key}={value!r}")
        given[key] = value
    if preset is not None:
        given = preset_params(preset, family, given)
    return family.from_params(given)


def distinct(metrics: Sequence[Metric]) -> Sequence[Metric]:
    """Return each metric once; refuse different ones of the same name: values go by name."""
    by_name: dict[str, Metric] = {}
    for one in metrics:
        if by_name.setdefault(str(one), one) != one:
            raise ValueError(
                f"two metrics are called {str(one)!r}: give each function a name of its own with "
                "rankgrove.register_metric"
            )
    return list(by_name.values())


def _read_options(text: str, options: str | None) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for option in (options or "").split(","):
        key, equals, value = (part.strip() for part in option.partition("="))
        if not option.strip():
            continue
        if not equals or not value:
            raise ValueError(f"cannot read the option {option.strip()!r} of the metric {text!r}")
        if key in given:
            raise ValueError(f"{key} is given twice in {text!r}")
        given[key] = value
    return given
