"""Limits on the requests of one client."""

from __future__ import annotations

import resource
from dataclasses import dataclass

SHORT_BODY = 256 << 10  # larger ones are read on a thread, and count for max_large_bytes
LARGE_BODIES = 16
MAX_HEAD = 64 << 10
KEEP_ALIVE_SECONDS = 75.0
BACKLOG = 2048
MAX_UNSENT = 256 << 20  # bytes of responses that clients do not take
MAX_CONNECTIONS = 10_000
RESERVED_FILES = 64  # of those that a process may open: for models that are loaded anew, say


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server; a request beyond one is refused by name.

    Attributes
    ----------
    max_body : bytes of one body
    max_rows : rows that one request may make a model score: its documents, or, if the model
        compares documents of a query, the comparisons
    max_concurrent : requests that wait for the model or are scored; further ones get 503
    read_seconds : time in which a request must arrive, from its first byte
    """

    max_body: int = 16 << 20
    max_rows: int = 100_000
    max_concurrent: int = 64
    read_seconds: float = 30.0

    def __post_init__(self) -> None:
        for name in ("max_body", "max_rows", "max_concurrent", "read_seconds"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ValueError(f"{name} must be a finite number above 0, not {value!r}")

    @property
    def max_large_bytes(self) -> int:
        """Bytes of all large bodies that are held at the same time; beyond it, 503."""
        return LARGE_BODIES * self.max_body


def most_connections() -> int:
    """Return how many connections a process may hold, by the number of files that it may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, max(files - RESERVED_FILES, files // 2))
