"""The decorator that registers a metric class or function by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from rankgrove.metrics.metric import Metric
from rankgrove.metrics.python_metric import function_metric
from rankgrove.metrics.registry import add_metric

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_Definition = TypeVar("_Definition", bound=Callable[..., Any])


def register_metric(
    name: str, *other_names: str, of: str | None = None, greater_is_better: bool | None = None
) -> Callable[[_Definition], _Definition]:
    """Register a metric: a function of one query, or a class derived from Metric.

    ::

        @rankgrove.register_metric("found", of="ranked")
        def found(labels, k=10):
            return float((labels[:k] > 0).any())

    makes ``"found"`` and ``"found@5"`` names of a metric like any other. The function returns a
    number, or None for a query that is left out of the mean.

    Parameters
    ----------
    name : how the metric is called: letters, digits, ``-`` and ``_``, without regard to case
    other_names : names that mean the same
    of : what a function takes: ``"ranked"`` is ``function(labels)`` with the labels of a query from
        the best score to the worst; ``"scores"`` is ``function(labels, scores)``. Documents of
        equal score, or all of them, come in a random order that depends on the query id alone,
        since the order of the data may know the labels. Further parameters need defaults and
        become the metric's; one that bears the name of a parameter in
        ``docs/reference/metrics.md``, such as ``k`` or ``relevant_from``, has its meaning
    greater_is_better : whether larger values of a function are better (True unless given)
    """
    for text in (name, *other_names):
        if not isinstance(text, str) or not _NAME.fullmatch(text.lower()):
            raise ValueError(
                f"{text!r} cannot name a metric: use letters, digits, - and _, a letter first"
            )

    def register(definition: _Definition) -> _Definition:
        if isinstance(definition, type):
            if of is not None or greater_is_better is not None:
                raise ValueError("of and greater_is_better belong to functions: a class has them")
            family = cast("type[Metric]", definition)
        else:
            family = function_metric(name, definition, of, greater_is_better is not False)
        add_metric(family, name.lower(), [text.lower() for text in other_names])
        return definition

    return register
