"""How much one client may ask of a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server; a request beyond one is refused by name.

    Attributes
    ----------
    max_body : bytes of one body
    max_rows : rows that one request may make a model score: its documents, or, if the model
        compares documents of a query, the comparisons
    max_concurrent : requests that are read or scored at the same time; more are told to come back
    read_seconds : time in which a body must arrive
    """

    max_body: int = 16 << 20
    max_rows: int = 100_000
    max_concurrent: int = 64
    read_seconds: float = 30.0

    def __post_init__(self) -> None:
        for name in ("max_body", "max_rows", "max_concurrent", "read_seconds"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(f"{name} must be more than 0, not {value!r}")
