"""Predictions of training documents by the trees that did not see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.training.inputs import RankingInput

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Sums over trees, per training document in the caller's order.

    Attributes
    ----------
    sums, counts : over the trees whose sample did not hold the document: their values, their number
    ndcg : NDCG@10 over the queries all of whose documents have a prediction; NaN without any
    """

    sums: Floats
    counts: npt.NDArray[np.int32]
    ndcg: float

    @property
    def prediction(self) -> Floats:
        """Mean per document; NaN where every tree saw it."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = np.where(self.counts > 0, self.sums / self.counts, np.nan)
        return mean


def out_of_bag_ndcg(sums: Floats, counts: npt.NDArray[np.int32], data: RankingInput) -> float:
    """NDCG@10 over the queries all of whose documents have an out-of-bag prediction."""
    from rankgrove.metrics.metric import metric

    offsets = data.filled_offsets
    complete = np.minimum.reduceat(counts, offsets[:-1]) > 0
    if not complete.any():
        return float("nan")
    rows = np.repeat(complete, np.diff(offsets))
    return float(
        metric("ndcg@10")(
            data.y[rows],
            sums[rows] / counts[rows],
            group_sizes=np.diff(offsets)[complete],
        )
    )


def merged(parts: Sequence[OutOfBag | None]) -> OutOfBag | None:
    """Add the sums of parts of a forest; None if a part has none or knows other documents.

    The labels are not known any more, so that NDCG is NaN.
    """
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({len(part.sums) for part in known}) != 1:
        return None
    sums = np.add.reduce([part.sums for part in known])
    counts = np.add.reduce([part.counts for part in known], dtype=np.int32)
    return OutOfBag(sums, counts, float("nan"))
