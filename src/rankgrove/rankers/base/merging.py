"""Merging of forests that were grown in parts."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from rankgrove.errors import DataError, ModelError
from rankgrove.forests.out_of_bag import merged
from rankgrove.forests.seeded_trees import SeededTrees
from rankgrove.models.trees import same_values
from rankgrove.rankers.base.fitting import FitResult
from rankgrove.rankers.base.forest import ForestRanker

Forest = TypeVar("Forest", bound=ForestRanker)

# Parameters in which forests may differ and still be parts of one forest.
_FREE_TO_DIFFER = {"n_estimators", "first_tree", "random_state", "n_jobs", "verbose", "warm_start"}


def merge(first: Forest, *others: Forest) -> Forest:
    """Merge forests that were grown in parts into one with all their trees.

    The parts must be of the same kind, with the same parameters (but ``n_estimators``,
    ``first_tree``, ``random_state`` and what does not change the model), and must not share a tree;
    columns are matched by name. Parts grown with the same ``random_state`` and neighbouring
    ``first_tree`` give the same forest as one fit.
    """
    parts = (first, *others)
    for part in parts:
        if not isinstance(part, ForestRanker):
            raise TypeError(f"merge takes fitted forests, not {type(part).__name__}")
        _check_mergeable(first, part)
    trees = [_trees_of(part, first) for part in parts]
    joined = trees[0].followed_by(*trees[1:])
    pairs = np.stack([joined.seeds, joined.numbers], axis=1)
    if len(np.unique(pairs, axis=0)) < len(pairs):
        raise ModelError(
            "the forests share trees (same seed, same number): grow the parts with different "
            "random_state, or with first_tree set to where the last part ended"
        )
    params = {**first.get_params(deep=False), "n_estimators": len(joined.numbers)}
    result = type(first)(**params)
    result.replace_fitted(
        FitResult(
            first._with_trees(first.fitted_model(), joined.averaged()),
            {
                "tree_seeds_": joined.seeds,
                "tree_numbers_": joined.numbers,
                "leaf_score_": first.leaf_score_,
                "oob_": merged([part.oob_ for part in parts]),
            },
        )
    )
    return result


def _trees_of(part: ForestRanker, first: ForestRanker) -> SeededTrees:
    try:
        model = part.fitted_model().with_columns(first.fitted_model().columns)
    except DataError as error:
        raise ModelError(f"cannot merge forests of different columns: {error}") from error
    ours, theirs = first._trees_model(first.fitted_model()), part._trees_model(model)
    if not same_values(theirs.fill, ours.fill):
        raise ModelError("cannot merge forests that fill missing values differently")
    if theirs.link != ours.link:
        raise ModelError("cannot merge forests that learnt different grades")
    return SeededTrees(theirs.ensemble, part.tree_seeds_, part.tree_numbers_)


def _check_mergeable(first: ForestRanker, part: ForestRanker) -> None:
    if type(part) is not type(first):
        raise ModelError(f"cannot merge {type(first).__name__} with {type(part).__name__}")
    ours, theirs = first.get_params(deep=False), part.get_params(deep=False)
    for name, value in ours.items():
        if name not in _FREE_TO_DIFFER and not np.array_equal(value, theirs[name]):
            raise ModelError(
                f"cannot merge forests with different {name}: {value!r} and {theirs[name]!r}"
            )
    ours_read, theirs_read = first.fitted_model().absent, part.fitted_model().absent
    if ours_read is not None and theirs_read is not None and ours_read != theirs_read:
        raise ModelError("cannot merge forests that read absent features differently")
