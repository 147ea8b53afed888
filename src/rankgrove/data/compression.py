"""Compressed files as streams of bytes: .gz, .bz2, .xz and .zst, also of several members."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from rankgrove.errors import DataError

_MAGIC = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstd": b"\x28\xb5\x2f\xfd",
}
_SUFFIX = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
COMPRESSED_SUFFIXES = tuple(_SUFFIX)
_READ_BYTES = 1 << 20


def compression_of(path: Path) -> str | None:
    """Name the compression of a file by its first bytes; the suffix must not contradict them."""
    with path.open("rb") as file:
        head = file.read(8)
    found = next((name for name, magic in _MAGIC.items() if head.startswith(magic)), None)
    promised = _SUFFIX.get(path.suffix.lower())
    if promised is not None and found != promised:
        raise DataError(
            f"{path}: the name ends in {path.suffix}, but this is not a {promised} file"
        )
    return found


class DecompressedStream:
    """Reads the text of a compressed file; every kind of damage is a DataError."""

    def __init__(self, path: Path, compression: str) -> None:
        self._path = path
        self._compression = compression
        self._file = path.open("rb")
        self._pending = b""
        self._decompressor: Any = None
        self._zstd: Any = None
        if compression == "zstd":
            import pyarrow as pa

            self._zstd = pa.CompressedInputStream(pa.PythonFile(self._file), "zstd")

    def __enter__(self) -> DecompressedStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def position(self) -> int:
        """Number of compressed bytes consumed."""
        return self._file.tell()

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes, and none only at the end."""
        try:
            if self._zstd is not None:
                return bytes(self._zstd.read(size))
            return self._read_members(size)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
            raise DataError(f"{self._path}: damaged {self._compression} data: {error}") from None

    def _read_members(self, size: int) -> bytes:
        while True:
            if not self._pending:
                self._pending = self._file.read(_READ_BYTES)
            if self._decompressor is None:
                # Zeros may pad the end of a member.
                self._pending = self._pending.lstrip(b"\0")
                if not self._pending:
                    if self._file.peek(1):
                        continue
                    return b""
                self._decompressor = _DECOMPRESSORS[self._compression]()
            out = self._decompress(size)
            if self._decompressor.eof:
                self._pending = self._decompressor.unused_data
                self._decompressor = None
            if out:
                return out
            if self._decompressor is not None and not self._pending and not self._file.peek(1):
                raise EOFError("the file ends too early")

    def _decompress(self, size: int) -> bytes:
        if self._compression == "gzip":
            out: bytes = self._decompressor.decompress(self._pending, size)
            self._pending = self._decompressor.unconsumed_tail
        else:  # bz2 and lzma keep what they have not used yet
            data = b""
            if self._decompressor.needs_input:
                data, self._pending = self._pending, b""
            out = self._decompressor.decompress(data, size)
        return out


_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}
