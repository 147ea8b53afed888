"""Every ranker by name. A new ranker is one file and one line here."""

from __future__ import annotations

import importlib
from typing import Any

# Name (as in the command line and in model files) -> "module:class".
RANKERS = {
    "mart": "rankgrove.rankers.mart:MART",
    "lambdamart": "rankgrove.rankers.lambdamart:LambdaMART",
    "mcrank": "rankgrove.rankers.mcrank:McRank",
    "plrank": "rankgrove.rankers.plrank:PLRank",
    "cosmart": "rankgrove.rankers.cosmart:CosMART",
    "klmart": "rankgrove.rankers.klmart:KLMART",
    "xendcg": "rankgrove.rankers.xendcg:XENDCG",
    "yetirank": "rankgrove.rankers.yetirank:YetiRank",
    "rcrank": "rankgrove.rankers.rcrank:RCRank",
    "rf-point": "rankgrove.rankers.rf_point:RFPoint",
    "rf-list": "rankgrove.rankers.rf_list:RFList",
    "rf-hybrid": "rankgrove.rankers.rf_hybrid:RFHybrid",
    "rf-rand": "rankgrove.rankers.rf_rand:RFRand",
    "rf-pair": "rankgrove.rankers.rf_pair:RFPair",
    "extra-trees": "rankgrove.rankers.extra_trees:ExtraTrees",
    "rf": "rankgrove.rankers.random_forest:RandomForest",
}

# Models that files hold but that cannot be trained by name alone.
_UNNAMED = {
    "imported": "rankgrove.rankers.imported:ImportedRanker",
    "custom": "rankgrove.rankers.custom:CustomMART",
}

CLASS_NAMES = {target.partition(":")[2]: name for name, target in RANKERS.items()}


def ranker_class(name: str) -> Any:
    """Return the class of a ranker by its registered name."""
    try:
        module, _, class_name = {**RANKERS, **_UNNAMED}[name].partition(":")
    except KeyError:
        raise ValueError(f"unknown ranker {name!r}: choose from {', '.join(RANKERS)}") from None
    return getattr(importlib.import_module(module), class_name)


def make_ranker(name: str, **params: Any) -> Any:
    """Build a ranker by its registered name."""
    return ranker_class(name)(**params)
