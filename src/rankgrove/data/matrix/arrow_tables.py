"""Arrow tables of any origin, and their columns as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.object_columns import arrow_column
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


def table_column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame or table; None for anything else."""
    if hasattr(X, "to_frame") and getattr(X, "ndim", 2) == 1:
        raise DataError(
            "X must be a matrix with one row per document, not a single column (a Series): "
            "X.to_frame() makes a frame of one feature, and frame.iloc[:1] is one of one document"
        )
    columns = getattr(X, "column_names", None)
    if columns is None and hasattr(X, "to_numpy"):
        columns = getattr(X, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def as_arrow(table: Any) -> pa.Table:
    """Convert a pandas frame (without its index) or any table with an Arrow interface."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    try:
        if type(table).__module__.startswith("pandas"):
            # Their own conversion would add the index as a column.
            names = table_column_names(table) or ()
            arrays = [arrow_column(table.iloc[:, j], name) for j, name in enumerate(names)]
            return pa.table(arrays, names=names)
        return pa.table(table)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise DataError(f"this {type(table).__name__} cannot be read: {error}") from None


def decoded(column: Any) -> Any:
    """Return a dictionary column as its values, any other column as it is.

    A cast would not do: it fails for the text views of polars, and hides that a value is null.
    """
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column
    kind = column.type.value_type
    if kind == pa.string_view():
        kind = pa.large_string()
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_values(chunk, kind) for chunk in column.chunks], kind)
    return _values(column, kind)


def _values(column: pa.DictionaryArray, kind: pa.DataType) -> pa.Array:
    return column.dictionary.cast(kind).take(column.indices)


def without_dictionary(column: Any) -> Any:
    """Return a dictionary column of numbers as these numbers, any other column as it is."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) and holds_numbers(column.type.value_type):
        return column.cast(column.type.value_type)
    return column


def holds_numbers(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds real numbers (or nothing at all)."""
    import pyarrow as pa

    return bool(
        pa.types.is_floating(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    )


def no_numbers(name: str | None, kind: pa.DataType) -> str:
    """Return the message about a column whose type holds no numbers."""
    held = "texts" if str(kind) in ("string", "large_string", "string_view") else str(kind)
    return f"column {name!r} holds {held}, not numbers"


def write_feature(out: npt.NDArray[Any], column: pa.Array, name: str) -> None:
    """Copy one column of a batch into an array; null becomes NaN.

    As in arrays, numbers too large for the place become infinite.
    """
    import pyarrow as pa

    kind = column.type
    if not holds_numbers(kind):
        raise DataError(
            f"{no_numbers(name, kind)}: name it in categorical= if these are categories, or leave "
            "it out of features="
        )
    if pa.types.is_null(kind):
        out[:] = np.nan
        return
    if pa.types.is_decimal(kind) or (column.null_count and not pa.types.is_floating(kind)):
        column = column.cast(pa.float64(), safe=False)
    with np.errstate(over="ignore", invalid="ignore"):
        out[:] = column.to_numpy(zero_copy_only=False)
