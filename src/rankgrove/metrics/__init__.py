"""Ranking metrics, and presets with the conventions of other evaluation tools."""

from __future__ import annotations

from rankgrove.metrics.ece import reliability
from rankgrove.metrics.evaluation import Evaluation, evaluate
from rankgrove.metrics.metric import Metric, PreparedMetric
from rankgrove.metrics.parsing import metric
from rankgrove.metrics.presets import PRESETS
from rankgrove.metrics.registration import register_metric
from rankgrove.metrics.registry import metric_names
from rankgrove.metrics.runs import evaluate_run

__all__ = [
    "PRESETS",
    "Evaluation",
    "Metric",
    "PreparedMetric",
    "evaluate",
    "evaluate_run",
    "metric",
    "metric_names",
    "register_metric",
    "reliability",
]
