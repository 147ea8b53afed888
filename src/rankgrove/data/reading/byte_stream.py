"""Files as streams of bytes: plain or compressed (.gz, .bz2, .xz, .zst), pipes and devices too.

A file is opened once and its beginning can be peeked at, so what can be read only once (a pipe) is
read like any other. Files are read, not mapped: one that shrinks meanwhile is an error, where a
mapped one would end the process.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from rankgrove._addresses import Address, FilePath, OpenObject
from rankgrove._files import reason
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


def open_standard_input() -> ByteStream:
    """Open standard input."""
    return _decompressed(RawFile(Path("standard input"), 0))


def open_bytes(path: FilePath) -> ByteStream:
    """Open a file for reading; compression is recognised by the first bytes."""
    return _decompressed(RawFile(path))


def _decompressed(raw: RawFile) -> ByteStream:
    path = raw.path
    try:
        head = raw.peek(8)
        found = next((name for name, magic in _MAGIC.items() if head.startswith(magic)), None)
        promised = _SUFFIX.get(path.suffix.lower())
        if promised is not None and found != promised:
            raise DataError(
                f"{path}: the name ends in {path.suffix}, but this is not a {promised} file"
            )
        return raw if found is None else DecompressedStream(raw, found)
    except BaseException:
        raw.close()
        raise


class ByteStream:
    """Bytes that are read once, from the beginning to the end.

    Attributes
    ----------
    path : the file
    size : its size on disk, or None if it has none (pipes, devices)
    """

    def __init__(self, path: FilePath, size: int | None) -> None:
        self.path = path
        self.size = size
        self._head = b""

    def _next(self, size: int) -> bytes:
        raise NotImplementedError

    def position(self) -> int:
        """Return the number of bytes consumed on disk."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        raise NotImplementedError

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes, and none only at the end."""
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
            return data
        return self._next(size)

    def peek(self, size: int) -> bytes:
        """Return the next bytes without consuming them; fewer than ``size`` only near the end."""
        parts, length = [self._head], len(self._head)
        while length < size and (data := self._next(size - length)):
            parts.append(data)
            length += len(data)
        self._head = b"".join(parts)
        return self._head[:size]

    def fill(self, buffer: memoryview) -> int:
        """Read until the buffer is full or the stream ends, and return the number of bytes."""
        filled = 0
        while filled < len(buffer) and (data := self.read(min(len(buffer) - filled, 4 << 20))):
            buffer[filled : filled + len(data)] = data
            filled += len(data)
        return filled

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _opened(path: FilePath, descriptor: int | None) -> tuple[io.RawIOBase, int | None]:
    """Open a file or an object; return it and its size, if it has one."""
    if isinstance(path, Address):
        opened = OpenObject(path)
        return opened, opened.size
    source = path if descriptor is None else descriptor
    file = open(source, "rb", buffering=0, closefd=descriptor is None)  # noqa: SIM115
    found = os.fstat(file.fileno())
    # Files that the system makes up (/proc) claim to be empty.
    return file, (found.st_size or None) if stat.S_ISREG(found.st_mode) else None


class RawFile(ByteStream):
    """The bytes of a file as they are."""

    def __init__(self, path: FilePath, descriptor: int | None = None) -> None:
        try:
            self._file, size = _opened(path, descriptor)
        except IsADirectoryError:
            raise DataError(f"{path}: not a file") from None
        except OSError as error:
            raise DataError(f"{path}: {reason(error)}") from None
        super().__init__(path, size)
        self._consumed = 0

    def _next(self, size: int) -> bytes:
        try:
            data = self._file.read(size)
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror}") from None
        if data is None:
            raise DataError(f"{self.path}: this pipe does not wait for data (O_NONBLOCK)")
        self._count(len(data))
        return data

    def fill(self, buffer: memoryview) -> int:
        """Read until the buffer is full or the file ends, without a copy on the way."""
        filled = min(len(self._head), len(buffer))
        buffer[:filled] = self._head[:filled]
        self._head = self._head[filled:]
        while filled < len(buffer):
            try:
                got = self._file.readinto(buffer[filled:])
            except OSError as error:
                raise DataError(f"{self.path}: {error.strerror}") from None
            if got is None:
                raise DataError(f"{self.path}: this pipe does not wait for data (O_NONBLOCK)")
            self._count(got)
            if got == 0:
                break
            filled += got
        return filled

    def _count(self, got: int) -> None:
        self._consumed += got
        if self.size is not None and (
            self._consumed > self.size or (got == 0 and self._consumed < self.size)
        ):
            raise DataError(f"{self.path}: the file has changed while it was read")

    def position(self) -> int:
        """Return the number of bytes consumed."""
        return self._consumed

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed


class DecompressedStream(ByteStream):
    """Reads the text of a compressed file; every kind of damage is a DataError."""

    def __init__(self, raw: RawFile, compression: str) -> None:
        super().__init__(raw.path, raw.size)
        self._compression = compression
        self._raw = raw
        self._pending = b""
        self._decompressor: Any = None
        self._zstd: Any = None
        if compression == "zstd":
            import pyarrow as pa

            self._zstd = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")

    def position(self) -> int:
        """Return the number of compressed bytes consumed."""
        return self._raw.position()

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._raw.closed

    def _next(self, size: int) -> bytes:
        try:
            if self._zstd is not None:
                return bytes(self._zstd.read(size))
            return self._read_members(size)
        except DataError:
            raise
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
            raise DataError(f"{self.path}: damaged {self._compression} data: {error}") from None

    def _read_members(self, size: int) -> bytes:
        while True:
            if not self._pending:
                self._pending = self._raw.read(_READ_BYTES)
            if self._decompressor is None:
                # Zeros may pad the end of a member.
                self._pending = self._pending.lstrip(b"\0")
                if not self._pending:
                    if self._raw.peek(1):
                        continue
                    return b""
                self._decompressor = _DECOMPRESSORS[self._compression]()
            out = self._decompress(size)
            if self._decompressor.eof:
                self._pending = self._decompressor.unused_data
                self._decompressor = None
            if out:
                return out
            if self._decompressor is not None and not self._pending and not self._raw.peek(1):
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
