"""User modules that register rankers and criteria, which workers must import, too."""

from __future__ import annotations

import contextlib
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

from rankgrove.forests.criteria import registered_functions
from rankgrove.rankers.base.registry import registered


@dataclass(frozen=True)
class OwnModules:
    """Names of user modules, and the folders in which they were found.

    A worker may be older than the modules, and look for them elsewhere.
    """

    names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    @classmethod
    def of_this_process(cls) -> OwnModules:
        """Return the modules that registered rankers and criteria here, except rankgrove's own.

        What a program itself or a notebook defines (``__main__``) has no module to import. Metrics
        are not looked for: they are sent as they are.
        """
        classes = [entry.cls for entry in registered().values()]
        found = {str(one.__module__) for one in (*classes, *registered_functions())}
        names = sorted(name for name in found if _top(name) not in ("rankgrove", "__main__"))
        return cls(tuple(names), tuple(sorted({f for name in names for f in _folders(_top(name))})))

    def load(self) -> None:
        """Import the modules that exist; a fit whose ranker's module is missing raises."""
        sys.path += [folder for folder in self.folders if folder not in sys.path]
        importlib.invalidate_caches()
        for name in self.names:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def _top(name: str) -> str:
    """Return the name of the package that a module is in."""
    return name.partition(".")[0]


def _folders(package: str) -> list[str]:
    """Return the folder of a package or module, if it is a file."""
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is None:
        return []
    path = Path(file).resolve()
    return [str(path.parents[1] if path.stem == "__init__" else path.parent)]
