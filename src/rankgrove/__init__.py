"""Learning to rank with tree ensembles: every published ranker on one fast native engine."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> module that defines it. Imported on first use, so that `import rankgrove` is quick.
# Ranker classes come from the registry of rankers.
_PUBLIC = {
    "Dataset": "rankgrove.data.core.dataset",
    "load": "rankgrove.data.reading.loading",
    "scan": "rankgrove.data.scanning.scan",
    "clear_cache": "rankgrove.data.matrix.cache",
    "load_folds": "rankgrove.data.reading.folds",
    "kfold": "rankgrove.data.reading.folds",
    "align_features": "rankgrove.data.core.alignment",
    "write_letor": "rankgrove.data.writing",
    "write_parquet": "rankgrove.data.writing",
    "QueryGroups": "rankgrove.data.core.queries",
    "Metric": "rankgrove.metrics.metric",
    "metric": "rankgrove.metrics.parsing",
    "evaluate": "rankgrove.metrics.evaluation",
    "compare": "rankgrove.experiments.comparing",
    "Comparison": "rankgrove.experiments.comparison",
    "register_metric": "rankgrove.metrics.registration",
    "register_criterion": "rankgrove.forests.criteria",
    "register_reader": "rankgrove.data.reading.readers",
    "register_target": "rankgrove.formats.exporting",
    "TreeEnsemble": "rankgrove.trees.ensemble",
    "load_model": "rankgrove.formats.container",
    "from_lightgbm": "rankgrove.formats.lightgbm",
    "from_xgboost": "rankgrove.formats.xgboost",
    "from_catboost": "rankgrove.formats.catboost",
    "from_sklearn": "rankgrove.formats.sklearn",
    "get_include": "rankgrove.formats.c_source",
    "merge": "rankgrove.rankers.base.merging",
    "make_ranker": "rankgrove.rankers.base.registry",
    "register_ranker": "rankgrove.rankers.base.registry",
    "ranker_names": "rankgrove.rankers.base.registry",
    "CustomMART": "rankgrove.rankers.custom",
    "DataError": "rankgrove.errors",
    "DataWarning": "rankgrove.errors",
    "ModelError": "rankgrove.errors",
    "RankgroveError": "rankgrove.errors",
}
_MODULES = ("datasets", "distributed", "metrics", "experiments", "explain")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"rankgrove.{name}")
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
    else:
        value = None
        if not name.startswith("_"):
            from rankgrove.rankers.base.registry import find_class

            value = find_class(name)
        if value is None:
            raise AttributeError(f"module 'rankgrove' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from rankgrove.rankers.base.registry import registered

    classes = {entry.cls.__name__ for entry in registered().values()}
    return sorted({"__version__", *_MODULES, *_PUBLIC, *classes})
