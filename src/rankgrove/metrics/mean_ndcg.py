"""MeanNDCG, as the LETOR 4.0 and MSLR evaluation scripts compute it."""

from __future__ import annotations

from dataclasses import dataclass

from rankgrove import _native
from rankgrove.metrics.arithmetic import discounts, gain_value
from rankgrove.metrics.metric import Metric, leading_ranks
from rankgrove.metrics.parameters import empty_value
from rankgrove.metrics.registration import register_metric


@register_metric("meanndcg")
@dataclass(frozen=True, repr=False)
class MeanNDCG(Metric):
    """Mean of NDCG@1, NDCG@2, ... up to the length of the list (or k)."""

    k: int | None = None
    gain: str | tuple[float, ...] = "exp"
    discount: str = "log2"
    ties: str = "average"
    empty: float | str = 0.0

    def kernel(self, queries: _native.JudgedQueries) -> _native.QueryMetric:
        """Prepare the native metric for judgments."""
        return _native.mean_ndcg(
            queries,
            gain_value(self.gain),
            discounts(self.discount, leading_ranks(queries, self.k)),
            k=self.k,
            ties=self.kernel_ties,
            empty=empty_value(self.empty),
        )
