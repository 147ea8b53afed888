"""Checks of paths of files to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankgrove._addresses import Address, FilePath
from rankgrove.errors import DataError


def require_file(path: FilePath) -> None:
    """Require an existing, seekable regular file."""
    if isinstance(path, Address):
        try:
            path.stat()
        except OSError as error:
            raise DataError(f"{path}: {error.strerror}") from None
        return
    if path.is_dir():
        raise DataError(f"{path}: not a file")
    if not path.is_file():
        raise DataError(
            f"{path}: {'this format needs a plain file' if path.exists() else 'no such file'}"
        )


@contextmanager
def readable(path: FilePath) -> Iterator[Any]:
    """Yield what a library can read at any position: the path of a file, or an open object."""
    if isinstance(path, Path):
        yield path
        return
    with path.open("rb") as file:
        yield file
