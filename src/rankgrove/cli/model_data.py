"""Loading of data files with a model's columns and its reading of absent features."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import file_path
from rankgrove.cli.options import reading_options
from rankgrove.data.core.columns import Columns
from rankgrove.errors import DataError

if TYPE_CHECKING:
    from rankgrove.data.core.dataset import Dataset


def is_text(path: str, arguments: argparse.Namespace) -> bool:
    """Return whether a file is LETOR text."""
    from rankgrove.data.reading.readers import reader_of

    return reader_of(file_path(path), arguments.format).name == "letor"


def load_training(paths: Sequence[str], arguments: argparse.Namespace) -> Any:
    """Load training data, or scan them if they are to be streamed."""
    from rankgrove.data.reading.loading import load

    source: Any = paths[0] if len(paths) == 1 else list(paths)
    if not _streams(paths, arguments):
        return load(source, **reading_options(arguments))
    if arguments.valid_share is not None:
        raise ValueError(
            "--valid-share needs data in memory, and these would be streamed: give --no-stream, or "
            "divide them with `rankgrove split` and give --valid"
        )
    from rankgrove.data.scanning.scan import scan

    for path in paths:
        if isinstance(place := file_path(path), Path) and place.is_fifo():
            raise DataError(
                f"{path}: a pipe cannot be streamed, since training data are read twice: give a "
                "file, or leave out --stream"
            )
    return scan(source, cache=arguments.cache, **reading_options(arguments))


def _streams(paths: Sequence[str], arguments: argparse.Namespace) -> bool:
    """Return whether training data are streamed: by the options, else by their size."""
    from rankgrove.data.reading.loading import files_in, is_folder
    from rankgrove.data.scanning.memory_estimate import should_stream

    if arguments.stream is not None:
        if arguments.cache is not None and not arguments.stream:
            raise ValueError("--cache has no effect with --no-stream")
        return bool(arguments.stream)
    files = (
        files_in(file_path(paths[0]))
        if is_folder(paths[0])
        else [file_path(path) for path in paths]
    )
    return arguments.cache is not None or should_stream(files, arguments.format)


def load_like(path: str, train: Dataset, arguments: argparse.Namespace) -> Any:
    """Load judged data with the columns of the training data, and their categories."""
    from rankgrove.data.reading.loading import load

    return load(path, like=Columns.of(train), **reading_options(arguments))


def scan_like(path: str, train: Any, arguments: argparse.Namespace) -> Any:
    """Scan judged data with the columns of the training data, which are streamed."""
    from rankgrove.data.scanning.scan import scan

    return scan(path, cache=arguments.cache, like=train.columns, **reading_options(arguments))


def load_documents(
    path: Any, ranker: Any, arguments: argparse.Namespace, *, needs_queries: bool
) -> Any:
    """Load documents to score: they need no labels, and queries only if they matter."""
    from rankgrove.data.reading import loading

    options = reading_options(arguments)
    return loading.load_documents(path, ranker, needs_queries=needs_queries, **options)


def scan_documents(paths: Sequence[str], arguments: argparse.Namespace) -> Any:
    """Scan documents to score, which are read batch by batch."""
    from rankgrove.data.scanning.scan import scan

    options = reading_options(arguments) | {"n_jobs": arguments.n_jobs}
    return scan(paths[0] if len(paths) == 1 else list(paths), **options)
