"""Files that are to be read."""

from __future__ import annotations

from pathlib import Path

from rankgrove.errors import DataError


def require_file(path: Path) -> None:
    """Refuse a path that is not an existing file."""
    if not path.is_file():
        raise DataError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
