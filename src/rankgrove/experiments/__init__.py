"""Comparisons, curves, tables, plots and reports; its public names are imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors: the names that `__getattr__` imports
    from rankgrove.experiments.comparison import Comparison
    from rankgrove.experiments.curves import Curve, curves_svg, history_svg, plot_history
    from rankgrove.experiments.significance import (
        bootstrap_interval,
        compare_pairs,
        query_means,
        randomisation,
        tier_letters,
        tiers,
    )
    from rankgrove.experiments.store import Store

__all__ = [
    "Comparison",
    "Curve",
    "Store",
    "bootstrap_interval",
    "compare_pairs",
    "curves_svg",
    "history_svg",
    "plot_history",
    "query_means",
    "randomisation",
    "tier_letters",
    "tiers",
]

_MODULES = {
    "comparison": ("Comparison",),
    "curves": ("Curve", "curves_svg", "history_svg", "plot_history"),
    "significance": (
        *("bootstrap_interval", "compare_pairs", "query_means", "randomisation"),
        *("tier_letters", "tiers"),
    ),
    "store": ("Store",),
}


def _public(name: str) -> Any:
    """Import a public name from the module that defines it (PEP 562), and cache it."""
    for module, names in _MODULES.items():
        if name in names:
            found = getattr(importlib.import_module(f"rankgrove.experiments.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'rankgrove.experiments' has no attribute {name!r}")


if not TYPE_CHECKING:
    __getattr__ = _public
