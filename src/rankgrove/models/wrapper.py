"""Base class of models that wrap another one, which does the scoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import ModelError
from rankgrove.models.model import (
    Arrays,
    Floats,
    Matrix,
    Model,
    pack_model,
    unpack_model,
    with_prefix,
    without_prefix,
)

W = TypeVar("W", bound="WrapperModel")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WrapperModel(Model):
    """A model around an inner model, whose properties it forwards unless it overrides them.

    Attributes
    ----------
    inner : the model that scores
    """

    inner: Model

    @property
    def needs_queries(self) -> bool:
        """Whether the inner model does."""
        return self.inner.needs_queries

    @property
    def constant(self) -> bool:
        """Whether the inner model is."""
        return self.inner.constant

    @property
    def size(self) -> str:
        """Size of the inner model."""
        return self.inner.size

    def uncertain(self, X: Matrix) -> int:
        """Return the count of the inner model."""
        return self.inner.uncertain(X)

    def work(self, n_rows: int, groups: QueryGroups | None = None) -> int:
        """Return the work of the inner model."""
        return self.inner.work(n_rows, groups)

    def importances(self, kind: str) -> Floats:
        """Return the importances of the inner model."""
        return self.inner.importances(kind)

    def with_columns(self: W, columns: Columns) -> W:
        """Return the model for data with these columns."""
        return replace(self, columns=columns, inner=self.inner.with_columns(columns))

    def get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state of the inner model."""
        values, arrays = pack_model(self.inner)
        return {"inner": values}, with_prefix("inner", arrays)

    @staticmethod
    def inner_model(values: Mapping[str, Any], arrays: Arrays, columns: Columns) -> Model:
        """Build the inner model, and check that it has the wrapper's columns."""
        inner = unpack_model(values["inner"], without_prefix("inner", arrays))
        if inner.columns != columns:
            raise ModelError("the inner model of a wrapper has other columns")
        return inner
