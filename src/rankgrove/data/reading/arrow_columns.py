"""Labels, weights and query ids in columns of Arrow tables, and checks of features."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.matrix.arrow_tables import decoded, holds_numbers, no_numbers
from rankgrove.data.matrix.numbers import refuse_rounded
from rankgrove.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


def refuse_overflow(
    written: npt.NDArray[np.float32], column: pa.Array, name: str, start: int
) -> None:
    """Refuse finite numbers that overflow float32, as only wider floats and decimals do."""
    import pyarrow as pa

    if not pa.types.is_float64(column.type) and not pa.types.is_decimal(column.type):
        return
    rows = np.flatnonzero(np.isinf(written))
    if not len(rows):
        return
    given = column.take(rows).cast("float64", safe=False).to_numpy()
    for row, value in zip(rows.tolist(), given.tolist(), strict=True):
        if math.isfinite(value):
            raise DataError(
                f"column {name!r}, row {start + row}: {value} is too large for a 32-bit float"
            )


def is_rounded(written: npt.NDArray[np.float32], kind: pa.DataType) -> bool:
    """Return whether a column holds integers so large that it is probably an id or a hash."""
    import pyarrow as pa

    if not pa.types.is_integer(kind) or kind.bit_width < 64:
        return False
    return bool(np.abs(written).max(initial=0) >= 2.0**53)


def row_values(
    column: pa.ChunkedArray, name: str | None, first_row: int
) -> npt.NDArray[np.float64]:
    """Return a column of labels or weights; ``first_row`` is the number of its first row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        row = first_row + pc.index(column.is_null(), True).as_py()
        raise DataError(f"the value of column {name!r} is missing in row {row}")
    if not holds_numbers(column.type):
        raise DataError(no_numbers(name, column.type))
    numbers: npt.NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    if pa.types.is_integer(column.type):
        refuse_rounded(column.to_numpy(), numbers, f"column {name!r}: the value", first_row)
    infinite = ~np.isfinite(numbers)
    if infinite.any():
        row = int(infinite.argmax())
        raise DataError(
            f"column {name!r}: the value of row {first_row + row} is {numbers[row]}, not a finite "
            "number"
        )
    return numbers


def row_ids(column: pa.ChunkedArray, name: str | None, first_row: int) -> npt.NDArray[Any]:
    """Return a column of query ids, whole numbers or texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = decoded(column)
    if column.null_count:
        row = first_row + pc.index(column.is_null(), True).as_py()
        raise DataError(f"column {name!r}: the query id is missing in row {row}")
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy())
    if pa.types.is_floating(column.type):
        numbers = np.asarray(column.to_numpy())
        bad = ~((np.abs(numbers) < 2.0**53) & (np.trunc(numbers) == numbers))
        if bad.any():
            row = int(bad.argmax())
            wrong = f"{numbers[row]} is not a query id"
            raise DataError(f"column {name!r}, row {first_row + row}: {wrong}")
        return numbers.astype(np.int64)
    try:
        texts = column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"column {name!r} holds {column.type}, not query ids") from None
    return id_texts(texts, f"column {name!r}, row", first_row)


def id_texts(texts: Any, where: str, first_row: int = 0) -> npt.NDArray[np.str_]:
    """Return query ids as numpy's texts, which cannot end in a NUL character (it is cut off)."""
    import pyarrow.compute as pc

    cut = pc.index(pc.ends_with(texts, "\0"), True).as_py()
    if cut >= 0:
        raise DataError(
            f"{where} {first_row + cut}: the query id {texts[cut].as_py()!r} ends in a NUL "
            "character: leave that out"
        )
    return np.asarray(texts.to_numpy(zero_copy_only=False)).astype(str)
