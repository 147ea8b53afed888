"""Expected reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankgrove import _native
from rankgrove.metrics.arithmetic import satisfaction_value
from rankgrove.metrics.metric import Metric
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("err")
@dataclass(frozen=True, repr=False)
class ERR(Metric):
    """Expected 1/rank at which a cascading user is satisfied (Chapelle et al. 2009).

    A document of label l satisfies with probability (2^l - 1) / 2^max_grade, or l / max_grade under
    the linear gain.
    """

    partial_rankings: ClassVar[bool] = True

    k: int | None = None
    gain: str = "exp"
    max_grade: float = 4.0
    ties: str = "average"
    empty: float | str = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        satisfaction_value(self.gain, self.max_grade)

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.expected_reciprocal_rank(
            queries,
            satisfaction_value(self.gain, self.max_grade),
            k=self.k,
            ties=self.kernel_ties,
            empty=empty_value(self.empty),
        )
