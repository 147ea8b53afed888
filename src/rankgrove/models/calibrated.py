"""A model with a head that turns its scores into probabilities of relevance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.columns import Columns
from rankgrove.data.core.queries import QueryGroups
from rankgrove.errors import ModelError
from rankgrove.models.model import (
    Arrays,
    Floats,
    Matrix,
    Model,
    kind,
    with_prefix,
    without_prefix,
)
from rankgrove.models.wrapper import WrapperModel
from rankgrove.trees.scorer import Scorer


@dataclass(frozen=True)
class Head:
    """A non-decreasing function from scores to probabilities: linear between knots, flat beyond.

    Attributes
    ----------
    scores : of the knots, ascending
    values : at the knots: probabilities, or log-odds if ``log_odds``
    log_odds : whether a logistic function follows, and the ends go on as straight lines
    """

    scores: Floats
    values: Floats
    log_odds: bool

    def __call__(self, scores: Floats) -> Floats:
        """Return the probability of each score."""
        if not self.log_odds:
            return np.interp(scores, self.scores, self.values)
        from scipy.special import expit

        (low, high), (first, last) = self.scores, self.values
        slope = (last - first) / (high - low)
        return np.asarray(expit(first + slope * (scores - low)))


@kind("calibrated")
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CalibratedModel(WrapperModel):
    """Scores like its inner model; ``probability_of`` is the head.

    Attributes
    ----------
    head : from scores of the inner model to probabilities
    """

    head: Head

    @property
    def n_steps(self) -> int:
        """Steps of the inner model."""
        return self.inner.n_steps

    def scores(
        self, X: Matrix, groups: QueryGroups | None = None, n_jobs: int | None = None
    ) -> Floats:
        """Score each row by the inner model."""
        return self.inner.scores(X, groups, n_jobs)

    @property
    def tells_probabilities(self) -> bool:
        """True: that is what the head is for."""
        return True

    def probability_of(self, scores: Floats) -> Floats:
        """Return the value of the head for each score."""
        return self.head(scores)

    def stages(
        self,
        X: Matrix,
        groups: QueryGroups | None = None,
        *,
        steps: Sequence[int] | None = None,
        n_jobs: int | None = None,
    ) -> Iterator[Floats]:
        """Yield the scores of the inner model after steps."""
        return self.inner.stages(X, groups, steps=steps, n_jobs=n_jobs)

    def without_head(self) -> Model:
        """Return the inner model."""
        return self.inner

    def compile(self) -> Scorer:
        """Return the scorer of the inner model."""
        return self.inner.compile()

    def leaves(self, X: Matrix, n_jobs: int | None = None) -> npt.NDArray[np.int32]:
        """Return the leaves of the inner model."""
        return self.inner.leaves(X, n_jobs)

    def get_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state of the inner model, and the head."""
        state, arrays = super().get_state()
        head = {"scores": self.head.scores, "values": self.head.values}
        return {**state, "log_odds": self.head.log_odds}, {**arrays, **with_prefix("head", head)}

    @classmethod
    def from_state(
        cls, values: Mapping[str, Any], arrays: Arrays, columns: Columns
    ) -> CalibratedModel:
        """Build the inner model and the head, and check them."""
        inner = cls.inner_model(values, arrays, columns)
        head = without_prefix("head", arrays)
        scores, heights, log_odds = head["scores"], head["values"], values["log_odds"]
        for array in (scores, heights):
            if array.dtype != np.float64 or array.ndim != 1 or not np.isfinite(array).all():
                raise ModelError("the head of a calibrated model is no function")
        rising = (np.diff(scores) > 0).all() and (np.diff(heights) >= 0).all()
        fits = len(scores) == 2 if log_odds is True else bool(len(scores))
        if type(log_odds) is not bool or len(scores) != len(heights) or not rising or not fits:
            raise ModelError("the head of a calibrated model is no non-decreasing function")
        if not log_odds and (heights.min() < 0 or heights.max() > 1):
            raise ModelError("the head of a calibrated model has values that are no probabilities")
        return cls(columns=columns, inner=inner, head=Head(scores, heights, log_odds))
