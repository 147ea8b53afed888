"""Modules outside rankgrove that bring rankers and criteria, which workers must import, too."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable

from rankgrove.forests.criteria import registered_functions
from rankgrove.rankers.base.registry import registered


def own_modules() -> tuple[str, ...]:
    """Names of the modules whose rankers and criteria this process knows, but rankgrove's own.

    What a program itself or a notebook defines (``__main__``) has no module to import. Metrics are
    not looked for: they are sent as they are.
    """
    classes = [entry.cls for entry in registered().values()]
    names = {str(found.__module__) for found in (*classes, *registered_functions())}
    return tuple(sorted(n for n in names if n.partition(".")[0] not in ("rankgrove", "__main__")))


def import_modules(names: Iterable[str]) -> None:
    """Import what is there; a ranker of a module that is not is unknown, and its fit says so."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
