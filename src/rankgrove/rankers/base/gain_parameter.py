"""The parameter ``gain`` that many rankers have: what a document is worth by its label."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankgrove.rankers.base.parameters import AnyOf, Choice, Satisfies


def _is_table(value: Any) -> bool:
    if isinstance(value, str) or np.ndim(value) != 1:
        return False
    table = np.asarray(value)
    if not len(table) or table.dtype.kind not in "iuf":
        return False
    return bool((np.isfinite(table) & (table >= 0)).all())


def _read_table(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


TABLE = Satisfies(_is_table, "a list of numbers of at least 0", _read_table)
GAIN = AnyOf(Choice("exp", "linear"), TABLE)
GAIN_MEANING = (
    "worth of a label r: 'exp' is 2^r - 1, 'linear' is r, a table lists the gain of each label"
)
