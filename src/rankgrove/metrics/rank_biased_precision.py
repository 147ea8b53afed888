"""Rank-biased precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.metrics.arithmetic import relevance_value
from rankgrove.metrics.metric import Metric, leading_ranks
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("rbp")
@dataclass(frozen=True, repr=False)
class RBP(Metric):
    """(1 - p) sum_r p^(r - 1) [document at rank r is relevant] (Moffat and Zobel 2008)."""

    partial_rankings: ClassVar[bool] = True

    k: int | None = None
    persistence: float = 0.8
    relevant_from: float | str = 1.0
    ties: str = "average"
    empty: float | str = 0.0

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.cumulated_gain(
            queries,
            relevance_value(self.relevant_from),
            self.rank_weights(leading_ranks(queries, self.k)),
            "none",
            k=self.k,
            ties=self.kernel_ties,
            short_lists="pad",
            empty=empty_value(self.empty),
        )

    def rank_weights(self, n_ranks: int) -> npt.NDArray[np.float64]:
        """Return (1 - p) p^(r - 1) of the first ranks."""
        powers = np.full(n_ranks, self.persistence) ** np.arange(n_ranks)
        return np.asarray((1 - self.persistence) * powers, np.float64)
