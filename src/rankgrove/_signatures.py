"""Check of the argument order of a user's function, by the names of the arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

_NAMES = {
    "labels": {"y", "y_true", "true", "label", "labels", "target", "targets", "grades"},
    "scores": {"score", "scores", "y_pred", "y_score", "pred", "preds", "predt", "predictions"},
    "queries": {"qid", "query", "queries", "query_id", "group", "groups", "group_id"},
    "weights": {"weight", "weights", "sample_weight"},
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names}


def has_other_order(function: Callable[..., Any], roles: Sequence[str]) -> bool:
    """Return whether an argument has the usual name of an argument at another position.

    LightGBM calls an objective with labels, scores, weights and groups, rankgrove with scores,
    labels, queries and weights: ``objective(y_true, y_pred, weight, group)`` would take one for the
    other without an error.
    """
    names = inspect.signature(function).parameters
    return any(_ROLES.get(name, role) != role for name, role in zip(names, roles, strict=False))
