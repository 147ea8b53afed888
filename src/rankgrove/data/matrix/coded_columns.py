"""Categorical columns of tables and arrays: their values as codes and a dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import MOST_CODES, Categories
from rankgrove.data.matrix.object_columns import arrow_column
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE = 2.0**53  # whole numbers up to here are told apart by float64


class CodedColumn(NamedTuple):
    """The values of a column: float32 codes, NaN where a value is missing, and their dictionary."""

    codes: npt.NDArray[np.float32]
    categories: Categories


def is_category_type(kind: Any) -> bool:
    """Return whether a type of pandas or Arrow says that a column holds categories."""
    if type(kind).__name__ == "CategoricalDtype":
        return True
    import pyarrow as pa

    arrow = getattr(kind, "pyarrow_dtype", kind)
    return isinstance(arrow, pa.DataType) and pa.types.is_dictionary(arrow)


def holds_categories(kind: pa.DataType) -> bool:
    """Return whether a column of this type can be categorical: texts, whole numbers, booleans.

    Floats can if they are whole: tables make floats of whole numbers among which some are missing.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or kind == pa.string_view()
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_null(kind)
    )


def coded_arrow(column: Any, name: str, *, untyped: bool = False) -> CodedColumn:
    """Code a column of an Arrow table; null and NaN are missing, values without rows are left out.

    ``untyped`` marks texts of a file without types.
    """
    import pyarrow as pa

    if not holds_categories(column.type):
        raise DataError(
            f"column {name!r} holds {column.type}: a categorical column holds texts, whole numbers "
            "or booleans"
        )
    indices, values = _dictionary(column, name)
    if pa.types.is_floating(values.type):
        values = _whole_numbers(values, name)
    known = values.to_pylist()
    used = np.bincount(indices[indices >= 0], minlength=len(known)) > 0
    return _coded(indices, known, used, name, untyped)


def coded_values(column: npt.NDArray[Any], name: str, *, untyped: bool = False) -> CodedColumn:
    """Code a column of an array: numbers, booleans, texts or objects."""
    if column.dtype.kind in "fiub":
        present = ~np.isnan(column) if column.dtype.kind == "f" else np.ones(len(column), bool)
        values, inverse = np.unique(column[present], return_inverse=True)
        if values.dtype.kind == "f":
            _refuse_fractions(values, name)
            values = values.astype(np.int64)
        indices = np.full(len(column), -1, np.int64)
        indices[present] = inverse
        return _coded(indices, values.tolist(), np.ones(len(values), bool), name, untyped)
    return coded_arrow(arrow_column(column, name), name, untyped=untyped)


def joined_arrow(
    chunks: Sequence[Any], name: str, kind: pa.DataType, *, untyped: bool = False
) -> CodedColumn:
    """Code the chunks of one column, after ``compact`` of each."""
    import pyarrow as pa

    column = pa.chunked_array(list(chunks)) if chunks else pa.chunked_array([], kind)
    return coded_arrow(column, name, untyped=untyped)


def compact(column: Any) -> Any:
    """Dictionary-encode a chunk of a column, which saves memory."""
    import pyarrow as pa

    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return column.dictionary_encode() if is_text else column


def _dictionary(column: Any, name: str) -> tuple[npt.NDArray[np.int64], Any]:
    """Return the index of each row's value (-1: missing), and the distinct values."""
    import pyarrow as pa

    try:
        if not pa.types.is_dictionary(column.type):
            if pa.types.is_null(column.type):
                return np.full(len(column), -1, np.int64), pa.array([], pa.int64())
            if column.type == pa.string_view():
                column = column.cast(pa.large_string())
            column = column.dictionary_encode()
        if isinstance(column, pa.ChunkedArray):
            column = column.unify_dictionaries()
            chunks = column.chunks
            values = chunks[0].dictionary if chunks else pa.array([], column.type.value_type)
            indices = [_indices(chunk) for chunk in chunks]
            return np.concatenate([np.empty(0, np.int64), *indices]), values
        return _indices(column), column.dictionary
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"column {name!r} cannot be categorical: {error}") from None


def _indices(column: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    indices: npt.NDArray[np.int64] = (
        column.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    if column.indices.null_count:
        indices[np.asarray(column.indices.is_null())] = -1
    return indices


def _whole_numbers(values: Any, name: str) -> Any:
    """Return whole floats as integers; NaN is null."""
    import pyarrow as pa

    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    present = ~np.isnan(numbers)
    _refuse_fractions(numbers[present], name)
    return pa.array(np.where(present, numbers, 0).astype(np.int64), mask=~present)


def _refuse_fractions(values: npt.NDArray[Any], name: str) -> None:
    wrong = ~((np.abs(values) <= _WHOLE) & (np.trunc(values) == values))
    if wrong.any():
        raise DataError(
            f"column {name!r} holds {values[wrong][0]!s}, which is no category: a categorical "
            "column holds texts, whole numbers or booleans"
        )


def _coded(
    indices: npt.NDArray[np.int64],
    values: Iterable[Any],
    used: npt.NDArray[np.bool_],
    name: str,
    untyped: bool,
) -> CodedColumn:
    """Return the codes of rows whose values are given by their place among ``values``."""
    kept = set(compress(values, used.tolist()))
    kept.discard(None)
    if len(kept) > MOST_CODES:
        raise DataError(
            f"column {name!r} has {len(kept):,} categories: there may be {MOST_CODES:,}"
        )
    try:
        categories = Categories.of(kept, limit=MOST_CODES, untyped=untyped)
    except DataError as error:
        raise DataError(f"column {name!r}: {error}") from None
    code = {value: number for number, value in enumerate(categories.values)}
    codes = [*map(code.get, values), None]  # None becomes NaN
    return CodedColumn(np.array(codes, np.float64).astype(np.float32)[indices], categories)
