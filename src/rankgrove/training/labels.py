"""Errors about labels that name the caller's row and the ranker that refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.errors import LabelError


@contextmanager
def naming_rows(data: RankingInput) -> Iterator[None]:
    """Context in which errors about a label name its row in the caller's data.

    Kernels work in grouped order, and some see each distinct label only once: their errors carry
    its value.
    """
    try:
        yield
    except LabelError as error:
        rows = data.restored(data.y) == error.label
        if not rows.any():
            raise
        place = f"label of row {int(rows.argmax())}"
        raise LabelError(place, error.label, error.reason, error.source) from None


@contextmanager
def naming_ranker(name: str) -> Iterator[None]:
    """Context that adds the name of the ranker to errors about a label."""
    try:
        yield
    except LabelError as error:
        if error.source or name in error.reason:
            raise
        raise LabelError(error.place, error.label, error.reason, name) from None
