"""Columns of Python objects and of pandas frames, as Arrow arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rankgrove.errors import DataError

_KINDS = {"str": "text", "int": "whole number", "bool": "boolean", "float": "number"}


def arrow_column(column: Any, name: str) -> Any:
    """Return a column as an Arrow array; NaN and None are null."""
    import pyarrow as pa

    if hasattr(getattr(column, "array", None), "sp_values"):  # a sparse column of pandas
        column = column.sparse.to_dense()
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = _mixture(column) or _no_unicode(error) or f"cannot be read: {error}"
        raise DataError(f"column {name!r} {reason.rstrip('.')}") from None


def _mixture(column: Iterable[Any]) -> str | None:
    """Say which kinds of value a column mixes; None if it does not."""
    examples: dict[str, Any] = {}
    for value in column:
        kind = _KINDS.get(type(value).__name__)
        if kind is not None and value == value:  # NaN is missing
            examples.setdefault(kind, value)
    if len(examples) < 2:
        return None
    shown = [f"{value!r:.60} (a {kind})" for kind, value in examples.items()]
    return f"mixes {' and '.join(shown[:2])}: the values of a column must be of one kind"


def _no_unicode(error: Exception) -> str | None:
    if not isinstance(error, UnicodeEncodeError):
        return None
    return f"holds the text {error.object!r:.60}, which is not valid Unicode"
