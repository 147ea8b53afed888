"""Categorical columns of data that hold numbers alone: LETOR text, arrays and .npz archives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankgrove.data.core.dataset import Dataset
from rankgrove.data.matrix.coded_columns import coded_values
from rankgrove.data.matrix.dense import DenseMatrix
from rankgrove.errors import DataError

_TOLD_APART = 2**24  # whole numbers that float32 tells apart


def with_categorical(dataset: Dataset, columns: Sequence[str | int]) -> Dataset:
    """Take the whole numbers of some columns as categories.

    Columns are given by name, or by number from 0; features of text also by the text ``"3"``, the
    number that stands before the colon.
    """
    if dataset.matrix.entries is not None:
        shown = ", ".join(map(repr, columns))
        raise DataError(
            f"a sparse matrix has no categorical columns, but categorical= names {shown}: "
            "sparse=False makes an array of it"
        )
    values, categories = np.array(dataset.X), dict(dataset.categories)
    for j in dict.fromkeys(_place(dataset, given) for given in columns):
        name = dataset.feature_names[j]
        largest = np.fmax.reduce(np.abs(values[:, j]), initial=0)
        if largest >= _TOLD_APART:
            raise DataError(
                f"column {name!r} holds {largest:.0f}: as a category it may be rounded, since "
                "features are 32-bit floats. Give a table, whose whole numbers stay exact"
            )
        values[:, j], categories[j] = coded_values(values[:, j], name, untyped=True)
    return dataset.with_features(
        DenseMatrix(values, dataset.feature_names, categories), dataset.feature_names
    )


def _place(dataset: Dataset, given: str | int) -> int:
    if isinstance(given, str):
        of_text = dataset.absent is not None and given.isdecimal()  # a feature's number there
        for name in (given, f"f{int(given)}") if of_text else (given,):
            if name in dataset.feature_names:
                return dataset.feature_names.index(name)
    elif 0 <= int(given) < dataset.n_features:
        return int(given)
    shown = ", ".join(map(repr, dataset.feature_names[:5]))
    raise DataError(
        f"there is no column {given!r} for categorical= among the {dataset.n_features} features "
        f"({shown}{', ...' if dataset.n_features > 5 else ''})"
    )
