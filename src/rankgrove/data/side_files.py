"""Group sizes in a file beside the data, as LightGBM keeps them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from rankgrove.data.compression import COMPRESSED_SUFFIXES
from rankgrove.errors import DataError

_SUFFIXES = (".query", ".group")


def find_group_sizes(path: Path) -> tuple[Path, npt.NDArray[np.int64]] | None:
    """Read ``FILE.query`` or ``FILE.group`` beside FILE: one number of rows per query and line."""
    stems = [path] if path.suffix not in COMPRESSED_SUFFIXES else [path, path.with_suffix("")]
    for stem in stems:
        for suffix in _SUFFIXES:
            side = stem.with_name(stem.name + suffix)
            if side.is_file():
                return side, read_group_sizes(side)
    return None


def read_group_sizes(path: Path) -> npt.NDArray[np.int64]:
    """Read whole numbers, one per line; blank lines are skipped."""
    lines = path.read_bytes().splitlines()
    tokens = [token for token in map(bytes.strip, lines) if token]
    try:
        return np.array(tokens, dtype="S20").astype(np.int64)
    except (ValueError, OverflowError):
        number = [not line.strip().isdigit() and line.strip() != b"" for line in lines].index(True)
        raise DataError(
            f"{path}, line {number + 1}: expected the number of rows of a query, "
            f"not {lines[number][:40].decode(errors='backslashreplace')!r}"
        ) from None
