"""Measurement and limits of the memory of a process."""

from __future__ import annotations

import contextlib
import re
import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# Limits of the fits that run in threads of this process, and the limit of the process before them.
_lock = threading.Lock()
_limits: list[int] = []
_before: tuple[int, int] = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class PeakMemory:
    """Context in which the most memory that this process holds is measured.

    Attributes
    ----------
    peak : bytes, known at the end; since the start of the process if the system cannot reset it
    """

    peak: int | None = None

    def __enter__(self) -> PeakMemory:
        with contextlib.suppress(OSError):
            _CLEAR.write_text("5")  # Linux: reset the peak
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.peak = _peak()


def _peak() -> int:
    try:
        found = re.search(r"VmHWM:\s*(\d+) kB", _STATUS.read_text())
    except OSError:
        found = None
    if found:
        return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def read_size(text: str) -> int:
    """Read a size such as ``8GB``, ``500m`` or a number of bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text.lower())
    if match is None:
        raise ValueError(f"{text!r} is not a size such as 8GB or 500MB")
    return int(float(match[1]) * _UNITS[match[2]])


@contextlib.contextmanager
def limited_memory(n_bytes: int | None) -> Iterator[None]:
    """Limit the bytes that this process may allocate meanwhile; more raises MemoryError.

    With None, or where the system cannot limit a process, there is no limit. Limits of several
    threads (a Dask worker has some) are added.
    """
    global _before
    if n_bytes is None:
        yield
        return
    with _lock:
        if not _limits:
            _before = resource.getrlimit(resource.RLIMIT_DATA)
        _limits.append(n_bytes)
        _set_limit()
    try:
        yield
    finally:
        with _lock:
            _limits.remove(n_bytes)
            _set_limit()


def _set_limit() -> None:
    soft, hard = _before
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (sum(_limits) if _limits else soft, hard))
