"""Data files as a model wants them: as many features, and absent ones left to its own policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def matrices(path: str, ranker: Any) -> Iterator[Any]:
    """Yield the data of a file in pieces of rows, in order."""
    from rankgrove import load

    yield load(path, n_features=ranker.n_features_in_)
