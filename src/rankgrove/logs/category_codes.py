"""Codes of the categorical columns of a feature log, which is read in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.coded_columns import CodedColumn, coded_arrow
from rankgrove.errors import DataError
from rankgrove.logs.plain_tables import is_untyped

if TYPE_CHECKING:
    import pyarrow as pa


class CategoryCodes:
    """Numbers instead of values: a value has the same code in all batches.

    Columns of dictionaries are categorical, in all batches or in none.
    """

    def __init__(self) -> None:
        self._codes: dict[str, dict[tuple[type, Any], int]] = {}
        self._numbers: set[str] = set()
        self._untyped = True

    def coded(self, batch: pa.Table) -> pa.Table:
        """Return a batch with codes (float64) instead of dictionaries."""
        import pyarrow as pa

        self._untyped = self._untyped and is_untyped(batch.schema)
        for j, field in enumerate(batch.schema):
            is_dictionary = pa.types.is_dictionary(field.type)
            if field.name in (self._numbers if is_dictionary else self._codes):
                raise DataError(
                    f"the column {field.name!r} of the features is categorical in one file and "
                    "numeric in another: name it in categorical="
                )
            if is_dictionary:
                column = self._coded(batch[field.name], field.name)
                batch = batch.set_column(j, field.name, column)
            else:
                self._numbers.add(field.name)
        return batch

    def _coded(self, column: Any, name: str) -> pa.ChunkedArray:
        import pyarrow as pa

        known = self._codes.setdefault(name, {})
        chunks = []
        for chunk in column.chunks:
            table = np.array(
                [*(_code(value, known) for value in chunk.dictionary.to_pylist()), np.nan]
            )
            places = chunk.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
            chunks.append(pa.array(table[places], from_pandas=True))  # NaN is null
        return pa.chunked_array(chunks, pa.float64())

    def __contains__(self, name: str) -> bool:
        return name in self._codes

    def column(self, name: str, codes: npt.NDArray[np.float64]) -> CodedColumn:
        """Return a column of these codes as data sets hold it; values without rows are left out."""
        import pyarrow as pa

        values = [value for _, value in self._codes[name]]
        indices = pa.array(np.nan_to_num(codes).astype(np.int64), mask=np.isnan(codes))
        try:
            dictionary = pa.array(values, None if values else pa.int64())
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            kinds = sorted({kind.__name__ for kind, _ in self._codes[name]})
            raise DataError(
                f"the column {name!r} of the features holds values of several kinds "
                f"({', '.join(kinds)}): categories are texts, whole numbers or booleans"
            ) from None
        column = pa.DictionaryArray.from_arrays(indices, dictionary)
        return coded_arrow(column, name, untyped=self._untyped)


def _code(value: Any, known: dict[tuple[type, Any], int]) -> float:
    if value is None or value != value:  # null or NaN
        return np.nan
    return known.setdefault((type(value), value), len(known))
