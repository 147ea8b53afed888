"""Values of categorical columns in a request, as the codes of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from rankgrove.data.core.categories import Categories, key
from rankgrove.data.core.category_maps import looked_up, recoding
from rankgrove.data.matrix.coded_columns import coded_arrow
from rankgrove.errors import DataError
from rankgrove.serving.errors import WRONG, RequestError, shown


class RowsBody(msgspec.Struct):
    """The rows of a body with texts and truths among numbers; the rest is checked elsewhere."""

    rows: list[list[float | int | str | bool | None]]


_DECODER = msgspec.json.Decoder(RowsBody)
_LARGEST = int(np.finfo(np.float64).max)
_KINDS = {"str": "a text", "int": "a whole number", "bool": "true or false"}


def read_rows(body: bytes) -> list[list[Any]]:
    """Return the rows of a JSON body; msgspec raises where they are not lists of values."""
    return _DECODER.decode(body).rows


def codes_of_values(
    values: Sequence[Any], categories: Categories, name: str | int
) -> tuple[npt.NDArray[np.float64], int]:
    """Return the codes of JSON values, NaN for null and unknown categories; count the latter."""
    known = categories.codes
    kinds = {kind for kind, _ in known}
    codes = np.full(len(values), np.nan)
    n_unknown = 0
    for row, value in enumerate(values):
        if value is None:
            continue
        whole = isinstance(value, float) and value.is_integer()
        meant = int(value) if whole else value
        kind, _ = key(meant)
        if kind not in kinds and kinds:
            wanted = " or ".join(sorted(_KINDS[one] for one in kinds))
            raise RequestError(
                WRONG,
                "type",
                f"'rows', row {row}, column {name!r}: {shown(value)} is no category of this "
                f"column, which holds {wanted}",
                field="rows",
                row=row,
                column=name,
                value=shown(value),
            )
        code = known.get(key(meant))
        if code is None:
            n_unknown += 1
        else:
            codes[row] = code
    return codes, n_unknown


def numbers_of_values(values: Sequence[Any], name: str | int) -> npt.NDArray[np.float64]:
    """Return the numbers of JSON values; null is missing, true is 1, false 0."""
    for row, value in enumerate(values):
        if isinstance(value, str) or (isinstance(value, int) and abs(value) > _LARGEST):
            raise RequestError(
                WRONG,
                "type",
                f"'rows', row {row}, column {name!r}: {shown(value)} is not a finite number (a "
                "missing value is null)",
                field="rows",
                row=row,
                column=name,
                value=shown(value),
            )
    return np.array([np.nan if value is None else value for value in values], np.float64)


def codes_of_column(
    column: Any, categories: Categories, name: str
) -> tuple[npt.NDArray[np.float32], int]:
    """Return a column of an Arrow table with the codes of the model; count unknown categories."""
    try:
        coded = coded_arrow(column, name)
        table = recoding(coded.categories, categories, f"column {name!r}", "the model")
    except DataError as error:
        raise RequestError(WRONG, "type", str(error), field="columns", column=name) from None
    codes = looked_up(table, coded.codes)
    return codes, int(np.isnan(codes).sum() - np.isnan(coded.codes).sum())
