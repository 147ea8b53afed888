"""Learning to rank with tree ensembles: every published ranker on one fast native engine."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors: the names that `_public` imports
    from rankgrove import (
        clicks,
        datasets,
        distributed,
        experiments,
        explain,
        extending,
        integrations,
        logs,
        metrics,
        serving,
    )
    from rankgrove.data.core.alignment import align_features
    from rankgrove.data.core.dataset import Dataset
    from rankgrove.data.core.queries import QueryGroups
    from rankgrove.data.matrix.cache import clear_cache
    from rankgrove.data.reading.folds import kfold, load_folds, split
    from rankgrove.data.reading.loading import load
    from rankgrove.data.reading.readers import register_reader
    from rankgrove.data.scanning.scan import scan
    from rankgrove.data.writing import to_arrow, write_letor, write_parquet
    from rankgrove.errors import DataError, DataWarning, ModelError, RankgroveError
    from rankgrove.experiments.comparing import compare
    from rankgrove.experiments.comparison import Comparison
    from rankgrove.forests.criteria import register_criterion
    from rankgrove.formats.c_source import get_include
    from rankgrove.formats.catboost import from_catboost
    from rankgrove.formats.container import load_model
    from rankgrove.formats.exporting import register_target
    from rankgrove.formats.lightgbm import from_lightgbm
    from rankgrove.formats.sklearn import from_sklearn
    from rankgrove.formats.xgboost import from_xgboost
    from rankgrove.metrics.evaluation import evaluate
    from rankgrove.metrics.metric import Metric
    from rankgrove.metrics.parsing import metric
    from rankgrove.metrics.registration import register_metric
    from rankgrove.models.early_exit import EarlyExit
    from rankgrove.rankers.adarank import AdaRank
    from rankgrove.rankers.auto import Auto
    from rankgrove.rankers.bagged import Bagged
    from rankgrove.rankers.base.imported import ImportedRanker
    from rankgrove.rankers.base.merging import merge
    from rankgrove.rankers.base.registry import make_ranker, ranker_names, register_ranker
    from rankgrove.rankers.blend import Blend
    from rankgrove.rankers.broof import BROOF
    from rankgrove.rankers.calibrated import Calibrated
    from rankgrove.rankers.coordinate_ascent import CoordinateAscent
    from rankgrove.rankers.cosmart import CosMART
    from rankgrove.rankers.custom import CustomMART
    from rankgrove.rankers.extra_trees import ExtraTrees
    from rankgrove.rankers.gbrt import GBRT
    from rankgrove.rankers.groupquantile import GroupQuantile
    from rankgrove.rankers.igbrt import IGBRT
    from rankgrove.rankers.klmart import KLMART
    from rankgrove.rankers.lambdaloss import LambdaLoss
    from rankgrove.rankers.lambdamart import LambdaMART
    from rankgrove.rankers.listce import ListCE
    from rankgrove.rankers.listmle import ListMLE
    from rankgrove.rankers.mart import MART
    from rankgrove.rankers.mcrank import McRank
    from rankgrove.rankers.pairlogit import PairLogit
    from rankgrove.rankers.plrank import PLRank
    from rankgrove.rankers.querycrossentropy import QueryCrossEntropy
    from rankgrove.rankers.queryrmse import QueryRMSE
    from rankgrove.rankers.querysoftmax import QuerySoftMax
    from rankgrove.rankers.random import RandomRanking
    from rankgrove.rankers.random_forest import RandomForest
    from rankgrove.rankers.rankboost import RankBoost
    from rankgrove.rankers.ranksvm import RankSVM
    from rankgrove.rankers.rcrank import RCRank
    from rankgrove.rankers.rf_hybrid import RFHybrid
    from rankgrove.rankers.rf_list import RFList
    from rankgrove.rankers.rf_pair import RFPair
    from rankgrove.rankers.rf_point import RFPoint
    from rankgrove.rankers.rf_rand import RFRand
    from rankgrove.rankers.single_feature import SingleFeature
    from rankgrove.rankers.stochasticfilter import StochasticFilter
    from rankgrove.rankers.stochasticrank import StochasticRank
    from rankgrove.rankers.xendcg import XENDCG
    from rankgrove.rankers.yetiloss import YetiLoss
    from rankgrove.rankers.yetirank import YetiRank
    from rankgrove.trees.ensemble import TreeEnsemble

__version__ = "1.0.0"

__all__ = [
    "BROOF",
    "GBRT",
    "IGBRT",
    "KLMART",
    "MART",
    "XENDCG",
    "AdaRank",
    "Auto",
    "Bagged",
    "Blend",
    "Calibrated",
    "Comparison",
    "CoordinateAscent",
    "CosMART",
    "CustomMART",
    "DataError",
    "DataWarning",
    "Dataset",
    "EarlyExit",
    "ExtraTrees",
    "GroupQuantile",
    "ImportedRanker",
    "LambdaLoss",
    "LambdaMART",
    "ListCE",
    "ListMLE",
    "McRank",
    "Metric",
    "ModelError",
    "PLRank",
    "PairLogit",
    "QueryCrossEntropy",
    "QueryGroups",
    "QueryRMSE",
    "QuerySoftMax",
    "RCRank",
    "RFHybrid",
    "RFList",
    "RFPair",
    "RFPoint",
    "RFRand",
    "RandomForest",
    "RandomRanking",
    "RankBoost",
    "RankSVM",
    "RankgroveError",
    "SingleFeature",
    "StochasticFilter",
    "StochasticRank",
    "TreeEnsemble",
    "YetiLoss",
    "YetiRank",
    "__version__",
    "align_features",
    "clear_cache",
    "clicks",
    "compare",
    "datasets",
    "distributed",
    "evaluate",
    "experiments",
    "explain",
    "extending",
    "from_catboost",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "get_include",
    "integrations",
    "kfold",
    "load",
    "load_folds",
    "load_model",
    "logs",
    "make_ranker",
    "merge",
    "metric",
    "metrics",
    "ranker_names",
    "register_criterion",
    "register_metric",
    "register_ranker",
    "register_reader",
    "register_target",
    "scan",
    "serving",
    "split",
    "to_arrow",
    "write_letor",
    "write_parquet",
]

# Public name -> module that defines it. Imported on first use, so that `import rankgrove` is quick.
# Ranker classes come from the registry of rankers.
_PUBLIC = {
    "Dataset": "rankgrove.data.core.dataset",
    "load": "rankgrove.data.reading.loading",
    "scan": "rankgrove.data.scanning.scan",
    "clear_cache": "rankgrove.data.matrix.cache",
    "load_folds": "rankgrove.data.reading.folds",
    "kfold": "rankgrove.data.reading.folds",
    "split": "rankgrove.data.reading.folds",
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
    "DataError": "rankgrove.errors",
    "DataWarning": "rankgrove.errors",
    "ModelError": "rankgrove.errors",
    "RankgroveError": "rankgrove.errors",
    "EarlyExit": "rankgrove.models.early_exit",
    "to_arrow": "rankgrove.data.writing",
}
_MODULES = (
    "clicks",
    "datasets",
    "distributed",
    "experiments",
    "explain",
    "extending",
    "integrations",
    "logs",
    "metrics",
    "serving",
)


def _public(name: str) -> Any:
    """Import a public name from the module that defines it (PEP 562), and cache it."""
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
            near = difflib.get_close_matches(name, __dir__(), n=1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module 'rankgrove' has no attribute {name!r}{hint}")
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # with __getattr__, a type checker would take every name for Any
    __getattr__ = _public


def __dir__() -> list[str]:
    from rankgrove.rankers.base.registry import class_names

    return sorted({*__all__, *class_names().values()})
