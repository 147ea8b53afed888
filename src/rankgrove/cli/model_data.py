"""Data files as a model wants them.

Features that sparse text does not mention are left to the model's own policy of missing values, and
columns are counted as in the training data.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rankgrove.cli.options import column_options
from rankgrove.data.features import first_number


def is_text(path: str, arguments: argparse.Namespace) -> bool:
    """Tell whether a file is LETOR text."""
    return _format(path, arguments) == "letor"


def load_training(path: str, arguments: argparse.Namespace) -> Any:
    """Load training data."""
    return _load(path, arguments)


def load_like(
    path: str, n_features: int, names: Sequence[str] | None, arguments: argparse.Namespace
) -> Any:
    """Load judged data with the columns of the training data."""
    if not is_text(path, arguments):
        return _load(path, arguments)
    first = None if names is None else first_number(names)
    return _load(path, arguments, n_features=n_features, first_feature=first)


def load_documents(
    path: str, ranker: Any, arguments: argparse.Namespace, *, needs_queries: bool
) -> Any:
    """Load documents to score: a table needs no labels, and queries only if they matter."""
    from rankgrove.data.loading import load_unjudged

    if _format(path, arguments) in ("csv", "parquet", "arrow"):
        return load_unjudged(path, needs_queries=needs_queries, **column_options(arguments))
    names = getattr(ranker, "feature_names_in_", None)
    return load_like(path, ranker.n_features_in_, names, arguments)


def matrices(path: str, ranker: Any, arguments: argparse.Namespace) -> Iterator[Any]:
    """Yield the documents of a file in pieces that ``ranker.predict`` takes, in order."""
    names = getattr(ranker, "feature_names_in_", None)
    first = None if names is None else first_number(names)
    if first is not None and is_text(path, arguments) and not ranker.model_.needs_queries:
        from rankgrove.data.streaming import stream_letor

        yield from stream_letor(Path(path), ranker.n_features_in_, first, n_jobs=ranker.n_jobs)
    else:
        yield load_documents(path, ranker, arguments, needs_queries=ranker.model_.needs_queries)


def _format(path: str, arguments: argparse.Namespace) -> str:
    from rankgrove.data.loading import format_of

    return format_of(Path(path), arguments.format).name


def _load(path: str, arguments: argparse.Namespace, **options: Any) -> Any:
    from rankgrove import load

    if is_text(path, arguments):
        options["missing"] = "keep"
    negative_labels = getattr(arguments, "negative_labels", "error")
    return load(path, negative_labels=negative_labels, **column_options(arguments), **options)
