"""The parameter ``gain`` that many rankers have: what a document is worth by its label."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankgrove.rankers.base.parameters import AnyOf, Choice, Satisfies


def _is_table(value: Any) -> bool:
    if isinstance(value, str) or np.ndim(value) != 1:
        return False
    table = np.asarray(value)
    return len(table) > 0 and table.dtype.kind in "iuf" and bool(np.isfinite(table).all())


def _read_table(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


GAIN = AnyOf(
    Choice("exp", "linear"), Satisfies(_is_table, "a table of gains by label", _read_table)
)
GAIN_MEANING = (
    "worth of a label r: 'exp' is 2^r - 1, 'linear' is r, a table lists the gain of each label"
)
