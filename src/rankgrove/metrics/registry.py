"""The registry of metrics by name.

Metrics register themselves (``registration.register_metric``). The modules of this folder are
imported on the first use of a name; those of other packages are found by their entry points in the
group ``rankgrove.metrics``, each of which has the name of a metric and points at what registers it.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from rankgrove._plugins import load_plugin
from rankgrove.metrics.metric import Metric

ENTRY_POINTS = "rankgrove.metrics"

# Metrics of LightGBM, XGBoost and CatBoost, by ours of that meaning, or of a similar one.
_ELSEWHERE = {
    "ndcg": "lambdarank rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart",
    "map": "mean_average_precision average_precision",
    "pair-accuracy": "auc queryauc aucpr pairlogit pairlogitpairwise",
    "p": "pre precisionat",
    "recall": "recallat",
    "err": "pfound",
    "dcg": "averagegain",
    "rmse": "queryrmse l2 l2_root mse mean_squared_error root_mean_squared_error",
}
_MEANT = {name: ours for ours, names in _ELSEWHERE.items() for name in names.split()}

_families: dict[str, type[Metric]] = {}
_other_names: dict[str, str] = {}


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
        meant = _MEANT.get(key, near[0] if near else None)
        hint = f"did you mean {meant!r}? There are" if meant else "choose from"
        raise ValueError(
            f"unknown metric {name!r}: {hint} {', '.join(metric_names())}; one of your own is "
            "known once the module that registers it is imported (--import MODULE on the command "
            "line)"
        ) from None


def is_registered(name: str) -> bool:
    """Return whether a metric has this name, without loading plugins."""
    _import_own()
    return name in _families or name in _other_names


def family_of(function: Any) -> type[Metric] | None:
    """Return the registered metric class of a function, None if there is none."""
    _import_own()
    families = _families.values()
    return next((f for f in families if getattr(f, "function", None) is function), None)


def add_metric(family: type[Metric], name: str, other_names: list[str]) -> None:
    """Add a metric class to the registry under its names."""
    for text in (name, *other_names):
        known = _families.get(_other_names.get(text, text))
        # Re-running a notebook cell replaces the metric of the same definition.
        if known is not None and _origin(known) != _origin(family):
            raise ValueError(f"there is a metric {text!r} already, of {'.'.join(_origin(known))}")
    family.name = name
    _families[name] = family
    _other_names.update(dict.fromkeys(other_names, name))


def _origin(family: type[Metric]) -> tuple[str, str]:
    return family.__module__, family.__qualname__


@cache
def _import_own() -> None:
    for module in pkgutil.iter_modules([str(Path(__file__).parent)], "rankgrove.metrics."):
        importlib.import_module(module.name)


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name.lower(): point for point in entry_points(group=ENTRY_POINTS)}


def _load_entry_point(name: str) -> None:
    point = _entry_points().get(name)
    if point is None:
        return
    load_plugin(point)
    if name not in _families and name not in _other_names:
        raise ValueError(f"the entry point {point.name} = {point.value} registers no such metric")
