"""Group sizes in a file beside the data, as LightGBM keeps them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankgrove._addresses import FilePath
from rankgrove.data.reading.byte_stream import COMPRESSED_SUFFIXES, open_bytes
from rankgrove.data.reading.lines import whole_lines
from rankgrove.errors import DataError

_SUFFIXES = (".query", ".group")


def find_group_sizes(path: FilePath) -> tuple[FilePath, npt.NDArray[np.int64]] | None:
    """Read ``FILE.query`` or ``FILE.group`` beside FILE: one number of rows per query and line."""
    side = side_file(path)
    return None if side is None else (side, read_group_sizes(side))


def side_file(path: FilePath) -> FilePath | None:
    """Return ``FILE.query`` or ``FILE.group`` beside FILE, if there is one."""
    stems = [path] if path.suffix not in COMPRESSED_SUFFIXES else [path, path.with_suffix("")]
    for stem in stems:
        for suffix in _SUFFIXES:
            side = stem.with_name(stem.name + suffix)
            if side.is_file():
                return side
    return None


def read_group_sizes(path: FilePath) -> npt.NDArray[np.int64]:
    """Read whole numbers, one per line; blank lines are skipped."""
    sizes: list[int] = []
    with open_bytes(path) as stream:
        number = 0
        for block in whole_lines(stream):
            for line in block.tobytes().splitlines():
                number += 1
                token = line.strip()
                if token.isdigit() and len(token) < 19:
                    sizes.append(int(token))
                elif token:
                    raise DataError(
                        f"{path}, line {number}: expected the number of rows of a query, "
                        f"not {line[:40].decode(errors='backslashreplace')!r}"
                    )
    return np.array(sizes, np.int64)
