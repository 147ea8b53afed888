"""Every metric by name. A new metric is one file and one line here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rankgrove.metrics.metric import Metric

# Name (as in texts such as "ndcg@10") -> "module:class".
METRICS = {
    "ndcg": "rankgrove.metrics.ndcg:NDCG",
    "endcg": "rankgrove.metrics.ndcg:ExpectedNDCG",
    "meanndcg": "rankgrove.metrics.mean_ndcg:MeanNDCG",
    "dcg": "rankgrove.metrics.dcg:DCG",
    "err": "rankgrove.metrics.err:ERR",
    "map": "rankgrove.metrics.average_precision:MAP",
    "mrr": "rankgrove.metrics.reciprocal_rank:MRR",
    "p": "rankgrove.metrics.precision:Precision",
    "recall": "rankgrove.metrics.recall:Recall",
    "rbp": "rankgrove.metrics.rank_biased_precision:RBP",
    "rmse": "rankgrove.metrics.rmse:RMSE",
    "tau": "rankgrove.metrics.kendall_tau:KendallTau",
}

# Other names that people use.
ALIASES = {"precision": "p", "ap": "map", "rr": "mrr", "kendall": "tau", "kendalltau": "tau"}


def metric_class(name: str) -> type[Metric]:
    """Return the class of a metric by its name, in upper or lower case."""
    key = name.lower()
    key = ALIASES.get(key, key)
    try:
        module, _, class_name = METRICS[key].partition(":")
    except KeyError:
        raise ValueError(f"unknown metric {name!r}: choose from {', '.join(METRICS)}") from None
    return cast("type[Metric]", getattr(importlib.import_module(module), class_name))
