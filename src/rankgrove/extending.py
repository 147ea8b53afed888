"""Public API for authors of rankers, objectives, metrics, criteria, readers and export targets.

Everything else below ``rankgrove`` may move from one release to the next; these names stay.
``docs/how-to/extending.md`` shows each of them at work.
"""

from __future__ import annotations

from rankgrove.boosting.objectives.base import Objective, TrainingData
from rankgrove.data.reading.readers import Reader, register_reader
from rankgrove.forests.criteria import register_criterion
from rankgrove.formats.exporting import Target, register_target
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.registration import register_metric
from rankgrove.rankers.base.boosted import BoostedRanker
from rankgrove.rankers.base.declaration import RankerParameter, param, parameter_table, with_default
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitting import Fit, FitResult
from rankgrove.rankers.base.forest import ForestRanker
from rankgrove.rankers.base.linear import LinearRanker
from rankgrove.rankers.base.parameters import (
    AnyOf,
    Choice,
    Constraint,
    Flag,
    Integer,
    Nothing,
    Real,
    Satisfies,
    Span,
)
from rankgrove.rankers.base.registry import ranker_class, register_ranker

__all__ = [
    "AnyOf",
    "BaseRanker",
    "BoostedRanker",
    "Choice",
    "Constraint",
    "Fit",
    "FitResult",
    "Flag",
    "ForestRanker",
    "Integer",
    "LinearRanker",
    "Metric",
    "Nothing",
    "Objective",
    "RankerParameter",
    "Reader",
    "Real",
    "Satisfies",
    "Span",
    "Target",
    "TrainingData",
    "param",
    "parameter_table",
    "ranker_class",
    "register_criterion",
    "register_metric",
    "register_ranker",
    "register_reader",
    "register_target",
    "with_default",
]
