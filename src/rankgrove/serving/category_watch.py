"""Log messages about unknown categories: once per column, if there are many."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from rankgrove.data.matrix.code_maps import UNSEEN_SHARE

_DOCUMENTS = 100  # fewer say little about the share


class CategoryWatch:
    """Unknown categories since a model was loaded; requests of several threads may be noted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents = 0
        self._unknown: Counter[str] = Counter()
        self._logged: set[str] = set()

    def note(self, n_documents: int, unknown: Mapping[str, int]) -> list[str]:
        """Count a request; return a text for each column that needs a first warning."""
        with self._lock:
            self._documents += n_documents
            self._unknown.update(unknown)
            if self._documents < _DOCUMENTS or not unknown:
                return []
            many = [
                name
                for name in unknown
                if name not in self._logged
                and self._unknown[name] >= UNSEEN_SHARE * self._documents
            ]
            self._logged.update(many)
            return [
                f"{self._unknown[name]:,} of {self._documents:,} values of {name!r}"
                for name in many
            ]
