"""Checks of paths of files to read."""

from __future__ import annotations

from pathlib import Path

from rankgrove.errors import DataError


def require_file(path: Path) -> None:
    """Require an existing, seekable regular file."""
    if path.is_dir():
        raise DataError(f"{path}: not a file")
    if not path.is_file():
        raise DataError(
            f"{path}: {'this format needs a plain file' if path.exists() else 'no such file'}"
        )
