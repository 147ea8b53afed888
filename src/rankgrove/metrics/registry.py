"""Every metric by name: whoever defines a metric registers it.

The modules of this folder are found and imported on the first use of a name; those of other
packages by their entry points in the group ``rankgrove.metrics``, each of which has the name of a
metric and points at what registers it.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from rankgrove.metrics.metric import Metric

ENTRY_POINTS = "rankgrove.metrics"

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_Definition = TypeVar("_Definition", bound=Callable[..., Any])

_families: dict[str, type[Metric]] = {}
_other_names: dict[str, str] = {}


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
        the best score to the worst, equal scores in the order of the data; ``"scores"`` is
        ``function(labels, scores)`` in the order of the data. Further parameters need defaults and
        become the metric's; one that bears the name of a parameter in ``docs/metrics.md``, such as
        ``k`` or ``relevant_from``, has its meaning
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
            from rankgrove.metrics.python_metric import function_metric

            family = function_metric(name, definition, of, greater_is_better is not False)
        _add(family, name.lower(), [text.lower() for text in other_names])
        return definition

    return register


def metric_names() -> list[str]:
    """Return the names of all metrics, those of installed packages included."""
    _import_own()
    return sorted({*_families, *_entry_points()})


def metric_class(name: str) -> type[Metric]:
    """Return the class of a metric by its name, in upper or lower case."""
    _import_own()
    key = name.lower()
    if key not in _families and key not in _other_names:
        _load_entry_point(key)
    try:
        return _families[_other_names.get(key, key)]
    except KeyError:
        near = difflib.get_close_matches(key, metric_names(), n=1, cutoff=0.7)
        hint = f"did you mean {near[0]!r}? There are" if near else "choose from"
        raise ValueError(
            f"unknown metric {name!r}: {hint} {', '.join(metric_names())}; one of your own is "
            "known once the module that registers it is imported"
        ) from None


def _add(family: type[Metric], name: str, other_names: list[str]) -> None:
    for text in (name, *other_names):
        known = _families.get(_other_names.get(text, text))
        # The same definition again, as a notebook makes it, replaces the old one.
        if known is not None and _origin(known) != _origin(family):
            raise ValueError(f"there is a metric {text!r} already, of {'.'.join(_origin(known))}")
    family.name = name
    _families[name] = family
    _other_names.update(dict.fromkeys(other_names, name))


def _origin(family: type[Metric]) -> tuple[str, str]:
    return family.__module__, family.__qualname__


@cache
def _import_own() -> None:
    import rankgrove.metrics

    for module in pkgutil.iter_modules(rankgrove.metrics.__path__, "rankgrove.metrics."):
        importlib.import_module(module.name)


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name.lower(): point for point in entry_points(group=ENTRY_POINTS)}


def _load_entry_point(name: str) -> None:
    point = _entry_points().get(name)
    if point is None:
        return
    point.load()
    if name not in _families and name not in _other_names:
        raise ValueError(f"the entry point {point.name} = {point.value} registers no such metric")
