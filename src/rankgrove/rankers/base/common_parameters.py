"""Constraints and declarations of parameters that several rankers have: criterion, gain, metric."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rankgrove.forests.criteria import is_criterion, native_names
from rankgrove.rankers.base.declaration import param
from rankgrove.rankers.base.parameters import AnyOf, Choice, Satisfies

# The split criterion of a forest.
CRITERION = Satisfies(
    is_criterion,
    f"{Choice(*native_names()).describe()}, or a name given to register_criterion",
    str,
)

NODE_ORDER_MEANING = (
    "which leaf is split next; best-first: the one whose best split gained most when the leaf was "
    "made (a listwise split is searched again when it is made, as other leaves have changed)"
)


def _is_table(value: Any) -> bool:
    if isinstance(value, str) or np.ndim(value) != 1:
        return False
    table = np.asarray(value)
    if not len(table) or table.dtype.kind not in "iuf":
        return False
    return bool((np.isfinite(table) & (table >= 0)).all())


def _read_table(text: str) -> list[float]:
    """Read ``0,1,3``, ``[0, 1, 3]``, or ``0/1/3`` as in the names of metrics."""
    return [
        float(part) for part in re.split("[,/]", text.strip().removeprefix("[").removesuffix("]"))
    ]


# The gain of a document by its label.
TABLE = Satisfies(_is_table, "a list of numbers of at least 0", _read_table)
GAIN = AnyOf(Choice("exp", "linear"), TABLE)
GAIN_MEANING = (
    "gain of a label r: 'exp' is 2^r - 1, 'linear' is r, a table lists the gain of each label"
)

# Policies for missing values of rankers of trees; BaseRanker declares those of any ranker.
MISSING_IN_TREES = Choice("keep", "branch", "zero", "mean", "median", "inf")
MISSING_IN_TREES_MEANING = (
    "what stands in for a missing value (NaN): nothing (keep: each split learns the side to which "
    "missing values go; branch: they are a third child of the split), 0, the mean or median of the "
    "training data, or +inf; it is part of the model and applied when predicting"
)

START = Choice("mean", "zero")
START_MEANING = (
    "score of every document before the first tree: the mean of what is fitted, or 0 (a model that "
    "is continued gives the scores in any case)"
)


EQUAL_LABELS = Choice("skip", "keep")
EQUAL_LABELS_MEANING = (
    "queries whose labels are all equal: left out, because every order of them is right, or kept "
    "with an order drawn at random, as in the paper"
)


def _is_metric(value: Any) -> bool:
    from rankgrove.metrics.metric import Metric
    from rankgrove.metrics.parsing import metric

    if isinstance(value, Metric):
        return True
    try:
        return (isinstance(value, str) or callable(value)) and bool(metric(value))
    except ValueError:
        return False


def _read_metric(text: str) -> str:
    from rankgrove.metrics.parsing import metric

    metric(text)
    return text


def metric_param(default: str, meaning: str) -> Any:
    """Declare the metric that a ranker optimises: its text, a Metric, or a function."""
    words = "a metric, its text, such as 'ndcg@10' or 'map', or a function"
    return param(default, Satisfies(_is_metric, words, _read_metric), meaning)
