"""Alignment and write protection of arrays that kernels and user functions get."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def addressable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array if its entries lie on multiples of their size, else a copy that does.

    (``np.ascontiguousarray`` does not help: it returns an unaligned array as it is.)
    """
    return array if is_addressable(array) else np.array(array, order="C", copy=True)


def is_addressable(array: npt.NDArray[Any]) -> bool:
    """Return whether the entries are aligned to their size."""
    steps = array.strides if array.size else ()
    return array.flags.aligned and not any(step % array.itemsize for step in steps)


def read_only(value: Any) -> Any:
    """Return a view of an array that cannot be written to; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view
