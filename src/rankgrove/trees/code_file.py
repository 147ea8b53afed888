"""Bin codes of streams: in memory-mapped files (out-of-core training), or in memory if few.

The file: magic, version, rows, features, bytes per code and a checksum of these; a checksum per
feature; then, from a multiple of 4096 on, the codes feature by feature. It is written block of rows
by block of rows, the header last.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove._native import BinnedMatrix, Bins
from rankgrove.data.matrix.cache import CacheEntry

_MAGIC = b"rgcodes\n"
_HEADER = struct.Struct("<8sIqqII")
_VERSION = 1
_PAGE = 4096


def mapped_codes(
    entry: CacheEntry,
    name: str,
    bins: Bins,
    n_rows: int,
    make: Callable[[], Iterable[BinnedMatrix]],
    *,
    large: bool,
) -> BinnedMatrix:
    """Return memory-mapped bin codes from a file of a cache entry; write the file if it is absent.

    Parameters
    ----------
    make : computes the codes, one block of rows after the other
    large : whether neither the codes nor data derived from them may fit into memory
    """
    shape = _shape(bins, n_rows)

    def write(file: BinaryIO) -> None:
        _write(file, shape, (block.all_codes for block in make()))

    def check(file: BinaryIO) -> bool:
        return _is_intact(file, shape, bins.n_bins())

    n_bytes = n_rows * bins.n_features * shape[2]
    codes: Any = np.empty(0, np.uint8)
    if n_bytes:
        with entry.file(name, write, check) as file:
            codes = np.memmap(file, np.uint8, "r", _codes_begin(bins.n_features), (n_bytes,))
    return _native.mapped_matrix(bins, codes, n_rows, str(entry.folder) if large else "")


def codes_in_memory(
    entry: CacheEntry,
    name: str,
    bins: Bins,
    n_rows: int,
    make: Callable[[], Iterable[BinnedMatrix]],
) -> BinnedMatrix:
    """Return bin codes that the cache entry keeps in memory; ``make`` as in ``mapped_codes``."""
    _, n_features, width = _shape(bins, n_rows)

    def joined() -> dict[str, npt.NDArray[Any]]:
        codes: Any = np.empty((n_features, n_rows), np.uint16 if width == 2 else np.uint8)
        start = 0
        for block in make():
            codes[:, start : start + block.n_rows] = block.all_codes
            start += block.n_rows
        return {"codes": codes.reshape(-1).view(np.uint8)}

    return _native.mapped_matrix(bins, entry.arrays(name, joined)["codes"], n_rows, "")


def _shape(bins: Bins, n_rows: int) -> tuple[int, int, int]:
    """Return the numbers of rows and features, and the bytes of a code."""
    return n_rows, bins.n_features, 2 if bool((bins.n_bins() > 255).any()) else 1


def _codes_begin(n_features: int) -> int:
    return -(-(_HEADER.size + 4 * n_features) // _PAGE) * _PAGE


def _header(shape: tuple[int, int, int]) -> bytes:
    n_rows, n_features, width = shape
    plain = _HEADER.pack(_MAGIC, _VERSION, n_rows, n_features, width, 0)
    return _HEADER.pack(_MAGIC, _VERSION, n_rows, n_features, width, zlib.crc32(plain))


def _write(file: BinaryIO, shape: tuple[int, int, int], blocks: Iterable[Any]) -> None:
    n_rows, n_features, width = shape
    begin = _codes_begin(n_features)
    descriptor = file.fileno()
    if hasattr(os, "posix_fallocate"):  # a full disk is an error before the work
        os.posix_fallocate(descriptor, 0, begin + n_rows * n_features * width)
    sums = [0] * n_features
    start = 0
    for block in blocks:
        for f in range(n_features):
            column = np.ascontiguousarray(block[f]).view(np.uint8).data
            sums[f] = zlib.crc32(column, sums[f])
            place = begin + (f * n_rows + start) * width
            while column:
                done = os.pwrite(descriptor, column, place)
                column, place = column[done:], place + done
        start += block.shape[1]
    os.pwrite(descriptor, _header(shape) + np.array(sums, "<u4").tobytes(), 0)


def _is_intact(file: BinaryIO, shape: tuple[int, int, int], n_bins: npt.NDArray[Any]) -> bool:
    """Return whether a file holds undamaged codes of this shape and these bins."""
    n_rows, n_features, width = shape
    begin = _codes_begin(n_features)
    if os.fstat(file.fileno()).st_size != begin + n_rows * n_features * width:
        return False
    if file.read(_HEADER.size) != _header(shape):
        return False
    sums = np.frombuffer(file.read(4 * n_features), "<u4")
    file.seek(begin)
    buffer = memoryview(bytearray(1 << 20))
    code = np.dtype("<u2" if width == 2 else "u1")
    for wanted, missing in zip(sums.tolist(), n_bins.tolist(), strict=True):
        found, rest = 0, n_rows * width
        while rest:
            got = file.readinto(buffer[: min(rest, len(buffer))])  # type: ignore[attr-defined]
            if not got or got % width or np.frombuffer(buffer[:got], code).max() > missing:
                return False
            found = zlib.crc32(buffer[:got], found)
            rest -= got
        if found != wanted:
            return False
    return True
