"""Every ranker by name; a ranker registers itself by ``@register_ranker("name")``.

Those of rankgrove are the modules of ``rankgrove/rankers/``. Installed packages bring more by entry
points of the group ``rankgrove.rankers``, each the ``module`` or ``module:Class`` that registers
it; anybody else imports the module that does. A registered ranker works by its name everywhere: in
``make_ranker``, on the command line, in comparisons and in model files.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import pkgutil
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rankgrove._plugins import load_plugin
from rankgrove.rankers.base.declaration import declared

Class = TypeVar("Class", bound=type)

ENTRY_POINTS = "rankgrove.rankers"


@dataclass(frozen=True)
class Registered:
    """A ranker that is known by name.

    Attributes
    ----------
    name : as on the command line and in model files
    cls : its class
    paper : where it was published
    optimises : what its training makes better
    listed : whether it can be trained by name alone (an imported model cannot)
    variants : settings that papers have names for, by these names
    """

    name: str
    cls: Any
    paper: str = ""
    optimises: str = ""
    listed: bool = True
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """Kind of ranker: boosted trees, forest, linear, ..."""
        return str(getattr(self.cls, "family", "other"))


_REGISTERED: dict[str, Registered] = {}
_complete = False
_COMPLETING = threading.RLock()


def register_ranker(
    name: str,
    *,
    paper: str = "",
    optimises: str = "",
    listed: bool = True,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
) -> Callable[[Class], Class]:
    """Turn the declared parameters of a class into its ``__init__``, and register it by name.

    Parameters
    ----------
    name : as on the command line and in model files: lower case, words joined by ``-``
    paper : where it was published, for the list of rankers
    optimises : what its training makes better, for the list of rankers
    listed : whether it can be trained by name alone
    variants : settings that papers have names for, by these names, for the list of rankers
    """
    if not name or name != name.lower() or set(name) & set(" _:/,="):
        raise ValueError(f"a ranker's name is lower case, words joined by '-', not {name!r}")

    def register(cls: Class) -> Class:
        known = _REGISTERED.get(name)
        if known is not None and known.cls.__qualname__ != cls.__qualname__:
            raise ValueError(f"the name {name!r} belongs to {known.cls.__module__} already")
        cls = declared(cls)
        _REGISTERED[name] = Registered(name, cls, paper, optimises, listed, variants or {})
        return cls

    return register


def registered() -> dict[str, Registered]:
    """Return all rankers by name, in alphabetical order."""
    global _complete
    with _COMPLETING:  # threads that come meanwhile wait for the whole list
        if not _complete:
            _complete = True
            _import_own()
            _import_entry_points()
    return dict(sorted(_REGISTERED.items()))


def ranker_names() -> list[str]:
    """Return the names of the rankers that can be trained by name."""
    return [name for name, entry in registered().items() if entry.listed]


def find_class(class_name: str) -> Any | None:
    """Return the registered class of that name, None if there is none."""
    known = registered().values()
    return next((entry.cls for entry in known if entry.cls.__name__ == class_name), None)


def name_of(cls: type) -> str | None:
    """Return the name under which a class is registered, None if it is not."""
    known = _REGISTERED.values()
    return next((entry.name for entry in known if entry.cls is cls), None)


def ranker_class(name: str) -> Any:
    """Return the class of a ranker by its registered name."""
    entry = registered().get(name)
    if entry is None:
        near = difflib.get_close_matches(str(name), ranker_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(ranker_names())}"
        raise ValueError(
            f"unknown ranker {name!r}: {hint} (a ranker of your own is known once the module that "
            "registers it is imported)"
        )
    return entry.cls


def make_ranker(name: str, **params: Any) -> Any:
    """Build a ranker by its registered name."""
    return ranker_class(name)(**params)


def _import_own() -> None:
    import rankgrove.rankers

    for module in pkgutil.iter_modules(rankgrove.rankers.__path__):
        if not module.ispkg:
            importlib.import_module(f"rankgrove.rankers.{module.name}")
    importlib.import_module("rankgrove.rankers.base.imported")


def _import_entry_points() -> None:
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            load_plugin(point)
        except ValueError as error:  # noqa: PERF203 - the other rankers can be used
            warnings.warn(str(error), stacklevel=3)
