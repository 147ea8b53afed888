"""Every ranker by name; a ranker registers itself by ``@register_ranker("name")``.

A table holds the rankers of rankgrove, so that one of them is found without importing the others.
Installed packages add rankers by entry points of the group ``rankgrove.rankers``, each the
``module`` or ``module:Class`` that registers it; other code imports the module itself. A registered
ranker can be named everywhere: in ``make_ranker``, on the command line, in comparisons and in model
files.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from rankgrove._plugins import load_plugin
from rankgrove.rankers.base.declaration import declared
from rankgrove.rankers.base.paper_settings import PaperSettings
from rankgrove.rankers.base.wording import meant_ranker

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    from rankgrove.rankers.base.declaration import dataclass_transform

Class = TypeVar("Class", bound=type)

ENTRY_POINTS = "rankgrove.rankers"

# Registered name -> module and class of rankgrove's own rankers.
OWN_RANKERS = {
    "adarank": ("rankgrove.rankers.adarank", "AdaRank"),
    "auto": ("rankgrove.rankers.auto", "Auto"),
    "bagged": ("rankgrove.rankers.bagged", "Bagged"),
    "blend": ("rankgrove.rankers.blend", "Blend"),
    "broof": ("rankgrove.rankers.broof", "BROOF"),
    "calibrated": ("rankgrove.rankers.calibrated", "Calibrated"),
    "coordinate-ascent": ("rankgrove.rankers.coordinate_ascent", "CoordinateAscent"),
    "cosmart": ("rankgrove.rankers.cosmart", "CosMART"),
    "custom": ("rankgrove.rankers.custom", "CustomMART"),
    "extra-trees": ("rankgrove.rankers.extra_trees", "ExtraTrees"),
    "gbrt": ("rankgrove.rankers.gbrt", "GBRT"),
    "groupquantile": ("rankgrove.rankers.groupquantile", "GroupQuantile"),
    "igbrt": ("rankgrove.rankers.igbrt", "IGBRT"),
    "imported": ("rankgrove.rankers.base.imported", "ImportedRanker"),
    "klmart": ("rankgrove.rankers.klmart", "KLMART"),
    "lambdaloss": ("rankgrove.rankers.lambdaloss", "LambdaLoss"),
    "lambdamart": ("rankgrove.rankers.lambdamart", "LambdaMART"),
    "listce": ("rankgrove.rankers.listce", "ListCE"),
    "listmle": ("rankgrove.rankers.listmle", "ListMLE"),
    "mart": ("rankgrove.rankers.mart", "MART"),
    "mcrank": ("rankgrove.rankers.mcrank", "McRank"),
    "pairlogit": ("rankgrove.rankers.pairlogit", "PairLogit"),
    "plrank": ("rankgrove.rankers.plrank", "PLRank"),
    "querycrossentropy": ("rankgrove.rankers.querycrossentropy", "QueryCrossEntropy"),
    "queryrmse": ("rankgrove.rankers.queryrmse", "QueryRMSE"),
    "querysoftmax": ("rankgrove.rankers.querysoftmax", "QuerySoftMax"),
    "random": ("rankgrove.rankers.random", "RandomRanking"),
    "rankboost": ("rankgrove.rankers.rankboost", "RankBoost"),
    "ranksvm": ("rankgrove.rankers.ranksvm", "RankSVM"),
    "rcrank": ("rankgrove.rankers.rcrank", "RCRank"),
    "rf": ("rankgrove.rankers.random_forest", "RandomForest"),
    "rf-hybrid": ("rankgrove.rankers.rf_hybrid", "RFHybrid"),
    "rf-list": ("rankgrove.rankers.rf_list", "RFList"),
    "rf-pair": ("rankgrove.rankers.rf_pair", "RFPair"),
    "rf-point": ("rankgrove.rankers.rf_point", "RFPoint"),
    "rf-rand": ("rankgrove.rankers.rf_rand", "RFRand"),
    "single-feature": ("rankgrove.rankers.single_feature", "SingleFeature"),
    "stochasticfilter": ("rankgrove.rankers.stochasticfilter", "StochasticFilter"),
    "stochasticrank": ("rankgrove.rankers.stochasticrank", "StochasticRank"),
    "xendcg": ("rankgrove.rankers.xendcg", "XENDCG"),
    "yetiloss": ("rankgrove.rankers.yetiloss", "YetiLoss"),
    "yetirank": ("rankgrove.rankers.yetirank", "YetiRank"),
}
_NOT_LISTED = frozenset({"custom", "imported"})


@dataclass(frozen=True)
class Registered:
    """A registered ranker.

    Attributes
    ----------
    name : as on the command line and in model files
    cls : its class
    paper : where it was published
    optimises : what its training makes better
    listed : whether it can be trained by name alone (an imported model cannot)
    variants : settings that papers have names for, by these names
    papers : settings of papers, the one that brought the ranker first
    """

    name: str
    cls: Any
    paper: str = ""
    optimises: str = ""
    listed: bool = True
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    papers: Mapping[str, PaperSettings] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """Kind of ranker: boosted trees, forest, linear, ..."""
        return str(getattr(self.cls, "family", "other"))


_REGISTERED: dict[str, Registered] = {}
_plugins_imported = False
_IMPORTING = threading.RLock()


@dataclass_transform(kw_only_default=True, eq_default=False)
def register_ranker(
    name: str,
    *,
    paper: str = "",
    optimises: str = "",
    listed: bool = True,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    papers: Mapping[str, PaperSettings] | None = None,
) -> Callable[[Class], Class]:
    """Turn the declared parameters of a class into its ``__init__``, and register it by name.

    Parameters
    ----------
    name : as on the command line and in model files: lower case, words joined by ``-``
    paper : where it was published, for the list of rankers
    optimises : what its training makes better, for the list of rankers
    listed : whether it can be trained by name alone
    variants : settings that papers have names for, by these names, for the list of rankers
    papers : settings of papers by a name such as ``burges-2010``, for ``as_in_paper``; the first is
        the paper that brought the ranker
    """
    if not isinstance(name, str) or not name or name != name.lower() or set(name) & set(" _:/,="):
        raise ValueError(f"a ranker's name is lower case, words joined by '-', not {name!r}")

    def register(cls: Class) -> Class:
        owner, qualname = _owner(name) or (cls.__module__, cls.__qualname__)
        if qualname != cls.__qualname__ or (name in OWN_RANKERS and owner != cls.__module__):
            raise ValueError(f"the name {name!r} belongs to {owner} already")
        cls = declared(cls)
        cls.papers = papers or {}  # type: ignore[attr-defined]  # its own, never inherited ones
        _REGISTERED[name] = Registered(
            name, cls, paper, optimises, listed, variants or {}, papers or {}
        )
        return cls

    return register


def registered() -> dict[str, Registered]:
    """Import all rankers and return them by name, in alphabetical order."""
    for module, _ in OWN_RANKERS.values():
        importlib.import_module(module)
    _import_plugins()
    return dict(sorted(_REGISTERED.items()))


def ranker_names() -> list[str]:
    """Return the names of the rankers that can be trained by name."""
    return [name for name in class_names() if _is_listed(name)]


def class_names() -> dict[str, str]:
    """Return the class name of every ranker by its registered name, in alphabetical order."""
    _import_plugins()
    own = {name: class_name for name, (_, class_name) in OWN_RANKERS.items()}
    others = {name: entry.cls.__name__ for name, entry in _REGISTERED.items()}
    return dict(sorted({**others, **own}.items()))


def find_class(class_name: str) -> Any | None:
    """Return the registered class of that name, None if there is none."""
    names = class_names()
    name = next((name for name, known in names.items() if known == class_name), None)
    return None if name is None else ranker_class(name)


def name_of(cls: type) -> str | None:
    """Return the name under which a class is registered, None if it is not."""
    known = _REGISTERED.values()
    return next((entry.name for entry in known if entry.cls is cls), None)


def ranker_class(name: str) -> Any:
    """Return the class of a ranker by its registered name, or by the name of its class."""
    if not isinstance(name, str):
        raise ValueError(f"a ranker is named by a text, such as 'lambdamart', not by {name!r:.60}")
    if name not in OWN_RANKERS and name not in _REGISTERED:
        name = next((known for known, cls in class_names().items() if cls == name), name)
    if name in OWN_RANKERS:
        importlib.import_module(OWN_RANKERS[name][0])
    entry = _REGISTERED.get(name)
    if entry is None:
        meant = meant_ranker(str(name), ranker_names())
        hint = f"did you mean {meant!r}?" if meant else f"choose from {', '.join(ranker_names())}"
        raise ValueError(
            f"unknown ranker {name!r}: {hint}; a ranker of your own is known once the module that "
            "registers it is imported (--import MODULE on the command line)"
        )
    return entry.cls


def make_ranker(name: str, **params: Any) -> Any:
    """Build a ranker by its registered name."""
    return ranker_class(name)(**params)


def _owner(name: str) -> tuple[str, str] | None:
    """Return the module and class to which a name belongs, None if it is free."""
    known = _REGISTERED.get(name)
    if name in OWN_RANKERS or known is None:
        return OWN_RANKERS.get(name)
    return known.cls.__module__, known.cls.__qualname__


def _is_listed(name: str) -> bool:
    if name in OWN_RANKERS:
        return name not in _NOT_LISTED
    return _REGISTERED[name].listed


def _import_plugins() -> None:
    """Import the rankers of installed packages, once."""
    global _plugins_imported
    with _IMPORTING:  # concurrent threads wait for all of them
        if _plugins_imported:
            return
        _plugins_imported = True
        for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
            try:
                load_plugin(point)
            except ValueError as error:  # noqa: PERF203 - the other rankers can be used
                warnings.warn(str(error), stacklevel=3)
