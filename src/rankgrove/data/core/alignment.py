"""Alignment of a Dataset's columns to the features of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.names import match_names
from rankgrove.errors import DataError


def align_features(
    dataset: Dataset,
    feature_names: Sequence[str],
    *,
    absent: Literal["error", "zero", "missing"] = "error",
    extra: Literal["error", "drop"] = "error",
) -> Dataset:
    """Put the columns into the order of ``feature_names``.

    Parameters
    ----------
    feature_names : the names wanted, usually those of the training data
    absent : what to do about wanted features that the data lack: refuse, or fill with 0
        (``"zero"``) or NaN (``"missing"``)
    extra : what to do about features that are not wanted: refuse, or drop them

    Returns
    -------
    Dataset
        the same one if its features are as wanted already
    """
    if absent not in ("error", "zero", "missing"):
        raise ValueError(f"absent must be 'error', 'zero' or 'missing', not {absent!r}")
    if extra not in ("error", "drop"):
        raise ValueError(f"extra must be 'error' or 'drop', not {extra!r}")
    if not isinstance(dataset, Dataset):
        raise TypeError(
            f"align_features takes a Dataset, not a {type(dataset).__name__}: make one with "
            "rankgrove.load, or select the columns of a frame by name"
        )
    if isinstance(feature_names, str) or not isinstance(feature_names, Iterable):
        raise DataError(f"feature_names must be a list of names, not {feature_names!r:.60}")
    wanted = tuple(map(str, feature_names))
    if dataset.feature_names == wanted:
        return dataset
    found = match_names(wanted, dataset.feature_names)
    if found.lacking and absent == "error":
        raise DataError(
            f"{dataset!r} lacks {len(found.lacking)} of the {len(wanted)} features wanted, the "
            f"first is {found.lacking[0]!r} (absent='zero' or 'missing' fills them)"
        )
    if found.extra and extra == "error":
        raise DataError(
            f"{dataset!r} has {len(found.extra)} features that are not wanted, the first is "
            f"{found.extra[0]!r} (extra='drop' leaves them out)"
        )
    known = np.array([j for j, place in enumerate(found.places) if place is not None], np.int64)
    filler = 0.0 if absent == "zero" else np.nan
    chosen = dataset.matrix.select_columns(found.found())
    return dataset.with_features(chosen.widened(known, len(wanted), filler), wanted)
