"""Standard output and standard error that lose nothing.

Python's own streams drop the rest of a short write (a disk that fills up, a pipe that does not
wait, with ``PYTHONUNBUFFERED``), and are None if the caller closed them.
"""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Any


class WholeWrites(io.RawIOBase):
    """A file descriptor whose ``write`` writes everything, or raises an error that names it."""

    def __init__(self, descriptor: int, name: str) -> None:
        super().__init__()
        self._descriptor = descriptor
        self.name = name

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether this is a terminal."""
        return os.isatty(self._descriptor)

    def write(self, data: Any) -> int:
        """Write all of the bytes, waiting for a pipe where need be."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while len(rest):
            rest = rest[self._write_some(rest) :]
        return size

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            select.select([], [self._descriptor], [])
            return 0
        except OSError as error:
            error.filename = self.name
            raise


def secure_standard_streams() -> None:
    """Replace ``sys.stdout`` and ``sys.stderr`` by streams that lose nothing."""
    # Descriptors that were closed are taken, lest a data file be opened under their number.
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(descriptor)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    raw = WholeWrites(1, "standard output")
    stream = io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace")
    stream.reconfigure(line_buffering=raw.isatty())
    sys.stdout = stream
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open until the process ends
