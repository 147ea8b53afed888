"""Bring data to the features that a model knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.sparse import SparseMatrix, as_array
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
    wanted = tuple(feature_names)
    if dataset.feature_names == wanted:
        return dataset
    place = {name: j for j, name in enumerate(dataset.feature_names)}
    lacking = [name for name in wanted if name not in place]
    if lacking and absent == "error":
        raise DataError(
            f"{dataset!r} lacks {len(lacking)} of the {len(wanted)} features wanted, the first is "
            f"{lacking[0]!r} (absent='zero' or 'missing' fills them)"
        )
    unwanted = set(place).difference(wanted)
    if unwanted and extra == "error":
        first = min(unwanted, key=place.__getitem__)
        raise DataError(
            f"{dataset!r} has {len(unwanted)} features that are not wanted, the first is {first!r} "
            "(extra='drop' leaves them out)"
        )
    known = np.array([j for j, name in enumerate(wanted) if name in place], np.int32)
    found: Any = dataset.X[:, [place[wanted[j]] for j in known]]
    filler = 0.0 if absent == "zero" else np.nan
    if isinstance(found, SparseMatrix) and (
        not lacking or np.isnan(found.absent) == np.isnan(filler)
    ):
        sparse: Any = found.among(known, len(wanted))
        return dataset.with_features(sparse, wanted)
    X = np.full((dataset.n_rows, len(wanted)), filler, np.float32)
    X[:, known] = as_array(found, "align_features with another filler than absent features")
    return dataset.with_features(X, wanted)
