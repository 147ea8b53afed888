"""What a forest is grown on: binned features, and labels as classes and as values of leaves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.errors import DataError
from rankgrove.rankers.inputs import RankingInput
from rankgrove.trees.binning import bin_matrix, find_bins

Floats = npt.NDArray[np.float64]

MAX_CLASSES = 255


def forest_data(
    data: RankingInput,
    *,
    criterion: str,
    leaf_score: str,
    max_bins: int,
    fill: npt.NDArray[np.float32] | None,
    weight: Floats | None,
    n_threads: int,
) -> _native.ForestData:
    """Bin the features and hand everything to the native grower."""
    bins = find_bins(data.X, max_bins=max_bins, fill=fill, n_jobs=n_threads)
    binned = bin_matrix(data.X, bins, rows=data.groups.order, n_jobs=n_threads)
    classes, label = np.unique(data.y, return_inverse=True)
    has_classes = len(classes) <= MAX_CLASSES
    if not has_classes and criterion != "squared_error":
        raise DataError(
            f"the criterion {criterion!r} takes at most {MAX_CLASSES} different labels, and y "
            f"has {len(classes)}: use criterion='squared_error'"
        )
    low, high = _extremes(data.X, fill)
    return _native.ForestData(
        binned,
        leaf_scores(data.y, leaf_score),
        filled_offsets(data),
        low,
        high,
        label.astype(np.uint8) if has_classes else None,
        leaf_scores(classes, leaf_score) if has_classes else None,
        weight,
        n_threads,
    )


def leaf_scores(labels: Floats, rule: str) -> Floats:
    """Return g(label) of each label: what a leaf averages over its documents."""
    if rule == "square":
        return labels**2
    if rule == "power":
        return np.exp2(labels)
    return labels


def filled_offsets(data: RankingInput) -> npt.NDArray[np.int64]:
    """Offsets of the queries that have documents."""
    filled = np.flatnonzero(data.groups.sizes)
    offsets: npt.NDArray[np.int64] = data.groups.offsets[np.r_[filled, data.groups.n_queries]]
    return np.ascontiguousarray(offsets)


def _extremes(
    X: npt.NDArray[np.float32], fill: npt.NDArray[np.float32] | None
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Smallest and largest value of each feature, finite."""
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    if fill is not None:
        low, high = np.fmin(low, fill), np.fmax(high, fill)
    limit = np.finfo(np.float32).max
    low = np.clip(np.nan_to_num(low, nan=0.0), -limit, limit)
    high = np.clip(np.nan_to_num(high, nan=0.0), -limit, limit)
    return np.ascontiguousarray(low, np.float32), np.ascontiguousarray(high, np.float32)
