"""A warning if X, y and qid have the same pandas index in different orders."""

from __future__ import annotations

import warnings
from typing import Any

from rankgrove.errors import DataWarning


def warn_of_other_order(what: str, stacklevel: int, **given: Any) -> None:
    """Warn if pandas objects that belong together have the same index in different orders.

    Values are taken by position, as scikit-learn does it. Other differences between indexes are
    ignored: one of the objects may have a new index.
    """
    indexed = [(name, value.index) for name, value in given.items() if hasattr(value, "iloc")]
    for name, index in indexed[1:]:
        first, reference = indexed[0]
        if len(index) != len(reference) or index.equals(reference):
            continue
        if index.is_unique and reference.is_unique and not len(index.difference(reference)):
            warnings.warn(
                f"{what}: {name} has the index of {first} in another order, but rows are taken as "
                f"they stand: bring them to the same order ({name}.loc[{first}.index])",
                DataWarning,
                stacklevel=stacklevel + 1,
            )


def without_index(value: Any) -> Any:
    """Return a pandas object with its rows numbered, anything else as it is."""
    return value.reset_index(drop=True) if hasattr(value, "iloc") else value
