"""The parameter ``metric`` of rankers that raise a metric itself."""

from __future__ import annotations

from typing import Any

from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import Satisfies


def _is_metric(value: Any) -> bool:
    from rankgrove.metrics.metric import Metric, metric

    if isinstance(value, Metric):
        return True
    try:
        return isinstance(value, str) and bool(metric(value))
    except ValueError:
        return False


def _read_metric(text: str) -> str:
    from rankgrove.metrics.metric import metric

    metric(text)
    return text


def metric_param(default: str, meaning: str) -> Any:
    """Declare the metric that a ranker raises: the text of one, or a Metric."""
    words = "a metric or its text, such as 'ndcg@10' or 'map'"
    return param(default, Satisfies(_is_metric, words, _read_metric), meaning)
