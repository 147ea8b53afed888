"""Puts forests that were grown in parts together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from rankgrove.errors import ModelError
from rankgrove.rankers.forest import ForestRanker
from rankgrove.rankers.seeded_trees import SeededTrees

Forest = TypeVar("Forest", bound=ForestRanker)

# Parameters in which forests may differ and still be parts of one forest.
_FREE_TO_DIFFER = {"n_estimators", "first_tree", "random_state", "n_jobs", "verbose", "warm_start"}


def merge(first: Forest, *others: Forest) -> Forest:
    """Put forests that were grown in parts together: the model has all their trees.

    The parts must be of the same kind, with the same parameters (but ``n_estimators``,
    ``first_tree``, ``random_state`` and what does not change the model), and must not share a tree.
    Parts grown with the same ``random_state`` and neighbouring ``first_tree`` give the very forest
    that one fit would give.
    """
    parts = (first, *others)
    for part in parts:
        if not isinstance(part, ForestRanker):
            raise TypeError(f"merge takes fitted forests, not {type(part).__name__}")
        part._check_fitted()
        _check_mergeable(first, part)
    trees = reduce(SeededTrees.followed_by, [part._trees() for part in parts])
    pairs = np.stack([trees.seeds, trees.numbers], axis=1)
    if len(np.unique(pairs, axis=0)) < len(pairs):
        raise ModelError(
            "the forests share trees (same seed, same number): grow the parts with different "
            "random_state, or with first_tree set to where the last part ended"
        )
    params: Mapping[str, Any] = first.get_params(deep=False)
    result = type(first)(**{**params, "n_estimators": len(trees.numbers)})
    values, arrays = first._get_fitted()
    result._set_fitted(values, arrays)
    result._set_trees(trees)
    _merge_out_of_bag(result, parts)
    return result


def _check_mergeable(first: ForestRanker, part: ForestRanker) -> None:
    if type(part) is not type(first):
        raise ModelError(f"cannot merge {type(first).__name__} with {type(part).__name__}")
    if part.n_features_in_ != first.n_features_in_:
        raise ModelError(
            f"cannot merge forests of {first.n_features_in_} and {part.n_features_in_} features"
        )
    ours, theirs = first.get_params(deep=False), part.get_params(deep=False)
    for name, value in ours.items():
        if name not in _FREE_TO_DIFFER and not np.array_equal(value, theirs[name]):
            raise ModelError(
                f"cannot merge forests with different {name}: {value!r} and {theirs[name]!r}"
            )
    if (
        first.fill_ is not None
        and part.fill_ is not None
        and not np.array_equal(first.fill_, part.fill_, equal_nan=True)
    ):
        raise ModelError("cannot merge forests that fill missing values differently")


def _merge_out_of_bag(result: ForestRanker, parts: Sequence[ForestRanker]) -> None:
    for name in ("_oob_sum", "_oob_count", "oob_score_"):
        result.__dict__.pop(name, None)
    if all(hasattr(part, "_oob_sum") for part in parts):
        lengths = {len(part._oob_sum) for part in parts}
        if len(lengths) == 1:
            result._oob_sum = np.add.reduce([part._oob_sum for part in parts])
            result._oob_count = np.add.reduce([part._oob_count for part in parts])
            result.oob_score_ = float("nan")
