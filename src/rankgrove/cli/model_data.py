"""Data files as a model wants them.

Features that sparse text does not mention are left to the model's own policy of missing values, and
columns are counted as in the training data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rankgrove.data.features import first_number


def is_text(path: str) -> bool:
    """Tell whether a file is LETOR text."""
    from rankgrove.data.loading import format_of

    return format_of(Path(path), None).name == "letor"


def load_training(path: str) -> Any:
    """Load training data."""
    from rankgrove import load

    return load(path, missing="keep") if is_text(path) else load(path)


def load_like(path: str, n_features: int, names: Sequence[str] | None) -> Any:
    """Load data with the columns of the training data."""
    from rankgrove import load

    if not is_text(path):
        return load(path)
    first = None if names is None else first_number(names)
    return load(path, missing="keep", n_features=n_features, first_feature=first)


def matrices(path: str, ranker: Any) -> Iterator[Any]:
    """Yield the documents of a file in pieces that ``ranker.predict`` takes, in order."""
    names = getattr(ranker, "feature_names_in_", None)
    first = None if names is None else first_number(names)
    if first is not None and is_text(path) and not ranker.needs_queries:
        from rankgrove.data.streaming import stream_letor

        yield from stream_letor(Path(path), ranker.n_features_in_, first, n_jobs=ranker.n_jobs)
    else:
        yield load_like(path, ranker.n_features_in_, names)
