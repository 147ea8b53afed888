"""Stages of early exit: find the best k documents of a query without scoring all in full.

Trees are added in stages. After each stage, documents that cannot reach the first k places any more
are dropped: certainly so by the bounds of the remaining leaf values (the answer is exact), or very
likely so as learnt from judged queries (``models.early_exit``).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rankgrove.errors import DataError, ModelError
from rankgrove.trees.ensemble import TreeEnsemble

_EXACT_STAGES = (0.5, 0.75, 0.875, 0.95)  # bounds are loose before most trees are added
_ROUNDING = 1e-9  # relative to the sum of leaf values: far above the rounding error


class ExitRule(Protocol):
    """Protocol of rules that drop documents which are unlikely to be among the first k.

    Attributes
    ----------
    k : the number of documents wanted per query
    stages : number of trees after which documents are dropped
    slack : for each stage, how far below the k-th best a document may be and still stay
    """

    @property
    def k(self) -> int: ...  # noqa: D102

    @property
    def stages(self) -> tuple[int, ...]: ...  # noqa: D102

    @property
    def slack(self) -> tuple[float, ...]: ...  # noqa: D102


def check_k(n_outputs: int, k: int) -> None:
    """Refuse a model with several outputs, and a k that is no positive integer."""
    if n_outputs != 1:
        raise ModelError(f"top_k needs a model with one output, not {n_outputs}")
    if not isinstance(k, int | np.integer) or k < 1:
        raise DataError(f"k must be a whole number of at least 1, not {k!r}")


def exit_stages(
    ensemble: TreeEnsemble, k: int, rule: ExitRule | None
) -> list[tuple[int, float | None]]:
    """Return the number of trees and the slack of each stage; the last stage has all trees."""
    if rule is None:
        stages = stages_at(ensemble, _EXACT_STAGES)
        slack = _certain_slack(ensemble, stages)
    else:
        if rule.k < k or any(stage > ensemble.n_trees for stage in rule.stages):
            raise ValueError(
                f"this early exit was learnt for the first {rule.k} documents of another "
                "model or a smaller k"
            )
        stages, slack = rule.stages, list(rule.slack)
    return [*zip(stages, slack, strict=True), (ensemble.n_trees, None)]


def stages_at(ensemble: TreeEnsemble, shares: tuple[float, ...]) -> tuple[int, ...]:
    """Return the numbers of trees at these shares of all trees."""
    counts = {round(share * ensemble.n_trees) for share in shares}
    return tuple(sorted(counts - {0, ensemble.n_trees}))


def _certain_slack(ensemble: TreeEnsemble, stages: tuple[int, ...]) -> list[float]:
    """Return how much a document can gain on another by the trees after each stage, at most."""
    if ensemble.n_trees == 0:
        return []
    leaf = ensemble.left < 0
    sizes = np.diff(ensemble.tree_offsets)
    value = ensemble.value * np.repeat(ensemble.tree_weights, sizes)
    starts = ensemble.tree_offsets[:-1]
    highest = np.maximum.reduceat(np.where(leaf, value, -np.inf), starts)
    lowest = np.minimum.reduceat(np.where(leaf, value, np.inf), starts)
    rounding = _ROUNDING * float(np.maximum(np.abs(highest), np.abs(lowest)).sum())
    return [float((highest[n:] - lowest[n:]).sum()) + rounding for n in stages]
