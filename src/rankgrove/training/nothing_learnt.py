"""Warnings about degenerate fits: labels all equal, or scores all equal."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import DataWarning
from rankgrove.models.model import Model
from rankgrove.workers.row_shard import RowShard


def labels_are_equal(y: npt.NDArray[np.float64], shard: RowShard) -> bool:
    """Return whether all labels are equal, and warn if so."""
    highest, lowest = shard.maximum(y, -np.inf), -shard.maximum(-y, -np.inf)
    if lowest == highest:
        message = (
            f"every label is {lowest:g}: there is no order to learn; check that y holds labels"
        )
        warnings.warn(message, DataWarning, stacklevel=4)
    return bool(lowest == highest)


def warn_of_constant_scores(
    model: Model, data: RankingInput, shard: RowShard, min_samples_leaf: int | None
) -> None:
    """Warn if the model gives all documents the same score."""
    if not model.constant or not shard.is_first_worker:
        return
    reason = _reason(data, shard, min_samples_leaf)
    warnings.warn(
        f"every document gets the same score: nothing was learnt. {reason}",
        DataWarning,
        stacklevel=4,
    )


def _reason(data: RankingInput, shard: RowShard, min_samples_leaf: int | None) -> str:
    if shard.single_worker and not _has_pairs(data):
        return "No query has two documents with different labels: check that qid holds the queries"
    if min_samples_leaf is not None and shard.n_rows < 2 * min_samples_leaf:
        return (
            f"A split needs min_samples_leaf={min_samples_leaf} documents on either side, and "
            f"there are {shard.n_rows} in all"
        )
    return (
        "The features may be constant, the weights too small, or limits such as min_samples_leaf "
        "and min_gain too strict"
    )


def _has_pairs(data: RankingInput) -> bool:
    """Return whether some query has two documents with different labels."""
    differs = np.flatnonzero(np.diff(data.y)) + 1
    return bool(np.isin(differs, data.groups.offsets, invert=True).any())
