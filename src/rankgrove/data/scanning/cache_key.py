"""The cache key of a file: path, size, times and a digest of samples of its content."""

from __future__ import annotations

import hashlib
import os
import time

from rankgrove._addresses import Address, FilePath
from rankgrove._files import reason
from rankgrove.data.reading.side_files import side_file
from rankgrove.errors import DataError

_PARTS = 16
_PART_BYTES = 1 << 16
# File times have a coarse resolution: a file that was written just now may change again without
# a new time.
_TICK_NANOSECONDS = 50_000_000


def file_key(path: FilePath) -> str:
    """Return the cache key of a file and of the side file beside it.

    Small files are read whole. A change to a large one shows in its times, of which that of the
    last change (ctime) cannot be set back.
    """
    described = _described(path)
    side = side_file(path)
    return described if side is None else f"{described} {_described(side)}"


def _described(path: FilePath) -> str:
    try:
        if isinstance(path, Address):
            return f"{str(path)!r} {path.stat().version}"
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            age = time.time_ns() - found.st_ctime_ns
            if 0 <= age < _TICK_NANOSECONDS:
                time.sleep((_TICK_NANOSECONDS - age) / 1e9)
                found = os.fstat(file.fileno())
            digest = hashlib.sha256()
            step = max(found.st_size // _PARTS, _PART_BYTES)
            for start in [*range(0, found.st_size, step), max(found.st_size - _PART_BYTES, 0)]:
                file.seek(start)
                digest.update(file.read(_PART_BYTES))
    except OSError as error:
        raise DataError(f"{path}: {reason(error)}") from None
    times = f"{found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"
    return f"{os.path.realpath(path)!r} {found.st_size} {times} {digest.hexdigest()}"
