"""Unfit labels by the caller's rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from rankgrove.data.ranking_input import RankingInput
from rankgrove.errors import DataError

_UNFIT = re.compile(r"label(?: of row \d+)? \((\S+)\)")


@contextmanager
def told_by_row(data: RankingInput) -> Iterator[None]:
    """Let errors about a label say in which row the caller finds it.

    Kernels work in grouped order, and some see each label but once: they tell its value.
    """
    try:
        yield
    except DataError as error:
        found = _UNFIT.search(str(error))
        rows = data.restored(data.y) == float(found[1]) if found else np.zeros(0, bool)
        if found is None or not rows.any():
            raise
        told = f"label of row {int(rows.argmax())} ({found[1]})"
        raise DataError(str(error).replace(found[0], told, 1)) from None
