"""Dictionaries of categorical columns that are read batch by batch.

Values get provisional codes in the order of their appearance, and these are written. When all
batches are read, a table for each column maps them to the codes of its dictionary.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import MOST_CODES, Categories, Value, key
from rankgrove.data.core.category_maps import looked_up
from rankgrove.data.core.row_batch import RowBatch
from rankgrove.data.matrix.cache import Arrays
from rankgrove.data.matrix.code_maps import table_map
from rankgrove.data.matrix.feature_matrix import ColumnMap
from rankgrove.errors import DataError

_NAME = "categories"  # of the array that holds the dictionaries


class BatchDictionaries:
    """The values of categorical columns in all batches.

    ``fixed`` says that batches come with the dictionaries of a model, whose codes are final.
    """

    def __init__(self, *, fixed: bool = False) -> None:
        self._fixed = fixed
        self._final: dict[int, Categories] = {}
        self._codes: dict[int, dict[tuple[str, Value], int]] = {}
        self._untyped: dict[int, bool] = {}
        self._first: tuple[str, frozenset[int]] | None = None

    def coded(self, batch: RowBatch) -> npt.NDArray[np.float32]:
        """Return the values of a batch, with provisional codes in categorical columns."""
        values = batch.X.to_array(batch.source)
        given = batch.X.categories
        self._refuse_difference(batch)
        if self._fixed:
            self._final.update(given)
            return values
        if given:
            values = np.array(values)
        for j, own in given.items():
            values[:, j] = looked_up(self._table(j, own, batch), values[:, j])
        return values

    def _refuse_difference(self, batch: RowBatch) -> None:
        categorical = frozenset(batch.X.categories)
        if self._first is None:
            self._first = batch.source, categorical
        source, known = self._first
        for j in sorted(known ^ categorical):
            name = j if batch.names is None else repr(batch.names[j])
            raise DataError(
                f"column {name} is categorical in one of {source} and {batch.source}, and holds "
                "numbers in the other: name it in categorical="
            )

    def _table(self, j: int, own: Categories, batch: RowBatch) -> npt.NDArray[np.float32]:
        """Return the provisional codes of a batch's dictionary."""
        codes = self._codes.setdefault(j, {})
        untyped = self._untyped.setdefault(j, own.untyped)
        if untyped != own.untyped:
            raise DataError(
                f"{batch.source}: a categorical column comes from files with types and from files "
                "without (CSV): give all of them in the same format"
            )
        return np.array(
            [codes.setdefault(key(value), len(codes)) for value in own.values], np.float32
        )

    def finished(self) -> Arrays:
        """Return the dictionaries, and the table of each column, as arrays to be kept."""
        if self._fixed:
            described = {j: (one, np.arange(one.n_codes)) for j, one in self._final.items()}
        else:
            described = {j: self._described(j) for j in self._codes}
        if not described:
            return {}
        state = {
            j: {**one.get_state(), "untyped": one.untyped} for j, (one, _) in described.items()
        }
        text = json.dumps(state).encode()
        tables = {f"codes{j}": table.astype(np.float32) for j, (_, table) in described.items()}
        return {_NAME: np.frombuffer(text, np.uint8), **tables}

    def _described(self, j: int) -> tuple[Categories, npt.NDArray[Any]]:
        codes = self._codes[j]
        if len(codes) > MOST_CODES:
            raise DataError(f"column {j} has {len(codes):,} categories, more than {MOST_CODES:,}")
        values = [value for _, value in codes]
        found = Categories.of(values, limit=MOST_CODES, untyped=self._untyped[j])
        return found, np.array([found.codes[one] for one in codes])


def scanned_categories(arrays: Arrays) -> tuple[dict[int, ColumnMap], dict[int, Categories]]:
    """Return what ``finished`` made: the map of provisional codes, and the dictionaries."""
    if _NAME not in arrays:
        return {}, {}
    maps, categories = {}, {}
    for text, state in json.loads(arrays[_NAME].tobytes()).items():
        j = int(text)
        categories[j] = Categories(
            tuple(state["values"]), tuple(state["pooled"]), bool(state["untyped"])
        )
        maps[j] = table_map(arrays[f"codes{j}"])
    return maps, categories
