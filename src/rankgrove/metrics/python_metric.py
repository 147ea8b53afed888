"""Metrics defined by a plain Python function of one query."""

from __future__ import annotations

import inspect
import math
import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, make_dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._signatures import has_other_order
from rankgrove.data.core.queries import QueryGroups
from rankgrove.metrics.arithmetic import relevance_threshold
from rankgrove.metrics.judgments import Listing
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import PARAMETERS, Parameter, parameter_like
from rankgrove.metrics.registry import add_metric, family_of, is_registered, metric_class

# Value of ``of`` -> arguments of the function.
ARGUMENTS = {"ranked": ("labels",), "scores": ("labels", "scores")}


@dataclass(frozen=True, repr=False)
class PythonMetric(Metric):
    """Base class of the metrics that ``function_metric`` creates."""

    function: ClassVar[Callable[..., Any]]
    of: ClassVar[str]

    @property
    def listing(self) -> Listing:
        """Documents of equal score come in random order: a function cannot average over orders."""
        return "drawn"

    def kernel(self, queries: _native.JudgedQueries) -> FunctionKernel:
        """Prepare the function for judgments."""
        return FunctionKernel(self, queries)

    def warn_of(self, queries: _native.JudgedQueries) -> None:
        """Warn of labels that make every ranking equally good, where ranks alone count."""
        if self.of == "ranked":
            super().warn_of(queries)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle the function itself: the process that unpickles may not have registered it.
        function = type(self).function
        if family_of(function) is None:
            return _restore_plain, (function, self.params)
        return _restore, (self.name, function, self.of, self.greater_is_better, self.params)


class FunctionKernel:
    """A Python metric prepared for fixed labels."""

    def __init__(self, metric: PythonMetric, queries: _native.JudgedQueries) -> None:
        self.metric = metric
        self.queries = queries
        self.labels = queries.grouped_labels() if metric.of == "scores" else None

    def values(self, scores: npt.NDArray[Any], groups: QueryGroups) -> npt.NDArray[np.float64]:
        """Return the value of each query; NaN for those that are left out."""
        if self.labels is None:
            columns = [_native.ranked_labels(self.queries, scores)]
        else:
            columns = [self.labels, _native.grouped_scores(self.queries, scores)]
        for column in columns:
            column.flags.writeable = False
        result = np.full(groups.n_queries, math.nan)
        for query in np.flatnonzero(groups.sizes):
            rows = slice(groups.offsets[query], groups.offsets[query + 1])
            own = [column[rows] for column in columns]
            result[query] = function_value(self.metric, own, groups.ids[query])
        return result


def function_value(
    metric: PythonMetric, columns: list[npt.NDArray[np.float64]], query: Any
) -> float:
    """Call the function of a metric for one query; NaN if it leaves the query out.

    ``columns`` are the labels in ranked order, or labels and scores (see ``ARGUMENTS``).
    """
    place = f"the metric {metric}, query {query}"
    params = metric.params
    if "relevant_from" in params:
        params["relevant_from"] = relevance_threshold(params["relevant_from"])
    try:
        value = type(metric).function(*columns, **params)
    except Exception as error:
        raise ValueError(f"{place}: {type(error).__name__}: {error}") from error
    if value is None:
        return math.nan
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, numbers.Real | np.bool_) or not math.isfinite(value):
        raise ValueError(
            f"{place}: the function returned {value!r:.200}; it must return a finite number, "
            "or None to leave the query out"
        )
    return float(value)


def function_metric(
    name: str, function: Callable[..., Any], of: str | None, greater_is_better: bool
) -> type[PythonMetric]:
    """Create a metric class from a function of one query."""
    if of not in ARGUMENTS:
        raise ValueError(
            f"the metric {name!r}: say what its function takes, of='ranked' for function(labels in "
            f"ranked order) or of='scores' for function(labels, scores), not of={of!r}"
        )
    parameters = _parameters(name, function, of)
    defaults = {key: parameters[key].check(key, value) for key, value in _defaults(function, of)}
    cls = make_dataclass(
        getattr(function, "__name__", name),
        [(key, Any, value) for key, value in defaults.items()],
        bases=(PythonMetric,),
        namespace={
            "__doc__": function.__doc__,
            "__qualname__": getattr(function, "__qualname__", name),
            "parameters": parameters,
            "function": staticmethod(function),
            "of": of,
            "greater_is_better": greater_is_better,
            "of_values": of == "scores",  # it may depend on them
        },
        frozen=True,
        repr=False,
    )
    cls.__module__ = function.__module__  # from Python 3.12 on, the namespace cannot set it
    return cls


def plain_metric(function: Callable[..., Any]) -> Metric:
    """Return the metric of a function; an unregistered one gets the function's name.

    One argument without a default is the labels of a query in ranked order, two are labels and
    scores; an attribute ``greater_is_better`` of the function says if larger values are better.
    """
    family = family_of(function)
    if family is not None:
        return family()
    name = re.sub("^[^a-z]+|[^a-z0-9_-]", "", str(getattr(function, "__name__", "")).lower())
    name = name or type(function).__name__.lower()
    if is_registered(name):
        raise ValueError(
            f"the function {name!r} bears the name of another metric: rename it, or register it "
            "under a name of its own with rankgrove.register_metric"
        )
    try:
        signature: Any = inspect.signature(function)
        parameters = list(signature.parameters.values())
    except ValueError:  # builtin functions of some versions of Python
        signature, parameters = "what it takes", []
    needed = [p for p in parameters if p.default is inspect.Parameter.empty]
    of = {1: "ranked", 2: "scores"}.get(len(needed))
    if of is None:
        raise ValueError(
            f"the function {name!r} cannot be a metric: it must take (labels in ranked order) or "
            f"(labels, scores) of one query, not {signature}"
        )
    family = function_metric(name, function, of, getattr(function, "greater_is_better", True))
    family.name = name
    return family()


def register_plain(metric: Metric) -> Metric:
    """Register the metric of a plain function by its name, for stores that hold only names."""
    if not isinstance(metric, PythonMetric) or is_registered(metric.name):
        return metric
    if not getattr(type(metric).function, "__name__", "<").isidentifier():
        raise ValueError(
            "values are stored by the name of their metric, and this function has none: give it "
            'one with rankgrove.register_metric("a-name", of=...)'
        )
    add_metric(type(metric), metric.name, [])
    return metric


def _parameters(name: str, function: Callable[..., Any], of: str) -> Mapping[str, Parameter]:
    arguments = ARGUMENTS[of]
    given = list(inspect.signature(function).parameters.values())
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if (
        len(given) < len(arguments)
        or any(p.kind not in kinds for p in given[: len(arguments)])
        or has_other_order(function, arguments)
    ):
        raise ValueError(
            f"the function of the metric {name!r} must take ({', '.join(arguments)}), not "
            f"{inspect.signature(function)}"
        )
    parameters = {}
    for parameter in given[len(arguments) :]:
        key, default = parameter.name, parameter.default
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise ValueError(f"the metric {name!r}: write out the parameters behind *{key}")
        if default is inspect.Parameter.empty:
            raise ValueError(
                f"the metric {name!r}: the parameter {key!r} needs a default (of={of!r} hands over "
                f"{' and '.join(arguments)} only)"
            )
        if key == "ties":
            raise ValueError(f"the metric {name!r}: ties are broken before the function is called")
        known = PARAMETERS.get(key) or parameter_like(default)
        if known is None:
            raise ValueError(
                f"the metric {name!r}: the default of {key!r} must be a number, a text, True or "
                f"False, not {default!r}"
            )
        parameters[key] = known
    return parameters


def _defaults(function: Callable[..., Any], of: str) -> list[tuple[str, Any]]:
    parameters = list(inspect.signature(function).parameters.values())
    return [(parameter.name, parameter.default) for parameter in parameters[len(ARGUMENTS[of]) :]]


def _restore_plain(function: Callable[..., Any], params: dict[str, Any]) -> Metric:
    return plain_metric(function).replace(**params)


def _restore(
    name: str,
    function: Callable[..., Any],
    of: str,
    greater_is_better: bool,
    params: dict[str, Any],
) -> Metric:
    family: type[Metric]
    try:
        family = metric_class(name)
    except ValueError:
        family = function_metric(name, function, of, greater_is_better)
        add_metric(family, name, [])
    return family(**params)
