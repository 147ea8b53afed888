"""What a caller of ``load`` may say about the data, handed to the reader of its format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.dataset import Absent

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class LoadOptions:
    """The arguments of ``load`` (see there) beside the source, as readers want them."""

    y: npt.ArrayLike | None = None
    qid: npt.ArrayLike | None = None
    group_sizes: npt.ArrayLike | None = None
    sample_weight: npt.ArrayLike | None = None
    doc_ids: npt.ArrayLike | None = None
    feature_names: Sequence[str] | None = None
    label: str | int | None = None
    query: str | int | None = None
    features: Sequence[str] | None = None
    ignore: Sequence[str] | Literal["texts"] | None = None
    weight: str | int | None = None
    doc_id: str | int | None = None
    absent: Absent = "zero"
    absent_given: bool = False  # by the caller; else it is that of ``like``, or the default
    sparse: bool | None = None
    like: Columns | None = None
    n_features: int | None = None
    first_feature: int | None = None
    comments: bool = True
    negative_labels: Literal["error", "keep", "drop"] = "error"
    progress: bool | Progress | None = None
    n_jobs: int | None = None
    # What need not be there and is not read: "label", "query" (see ``load_documents``).
    unread: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Let one column be named without a list."""
        if isinstance(self.features, str):
            object.__setattr__(self, "features", [self.features])
        if isinstance(self.ignore, str) and self.ignore != "texts":
            object.__setattr__(self, "ignore", [self.ignore])

    def given(self) -> set[str]:
        """Names of the options that the caller gave: those that differ from their default.

        ``absent`` is one of them also where the default was given, and not where it was taken over
        from a model.
        """
        different = {
            field.name
            for field in fields(self)
            if (value := getattr(self, field.name)) is not field.default
            and not _same(value, field.default)
        }
        return different - {"absent", "absent_given"} | ({"absent"} if self.absent_given else set())

    def given_absent(self) -> Absent | None:
        """Return what the caller said about absent features."""
        return self.absent if self.absent_given else None

    def described(self) -> str:
        """Return the options in words, but for those that change no value that is read."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("progress", "n_jobs", "comments", "doc_id", "absent_given"):
            del told[name]
        return repr(sorted((name, _plain(value)) for name, value in told.items()))


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


def _same(value: Any, default: Any) -> bool:
    return isinstance(value, (str, bool, int)) and bool(value == default)
