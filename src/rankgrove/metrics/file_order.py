"""Test whether the order of documents in the data predicts their labels.

Many collections list the documents of a query by relevance. A metric that breaks ties by the order
of the data (``ties=input``) then rewards rankers that give many documents the same score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.data.core.queries import QueryGroups
from rankgrove.metrics.ndcg import NDCG

_METRIC = NDCG(k=10)
_LARGEST_LABEL = 53  # of an exponential gain; larger ones have a linear gain
# The order predicts labels if it changes the NDCG@10 of a constant score by at least this gap,
# and the mean change over queries is this many standard errors away from 0.
_LEAST_GAP, _STANDARD_ERRORS = 0.01, 4.0


@dataclass(frozen=True)
class FileOrder:
    """NDCG@10 of a score that is the same for all documents.

    The gain is exponential, or linear if labels are too large for that.

    Attributes
    ----------
    in_file_order : with ties in the order of the data
    in_random_order : mean over all orders
    predicts_labels : whether the two differ by more than chance, and by 0.01 at least
    """

    in_file_order: float
    in_random_order: float
    predicts_labels: bool

    def __str__(self) -> str:
        return (
            f"the order of rows predicts labels: a constant score gets {self.in_file_order:.3f} "
            f"NDCG@10 in this order, {self.in_random_order:.3f} in random order"
        )


def file_order(y: npt.ArrayLike, groups: QueryGroups) -> FileOrder:
    """Compute NDCG@10 of a constant score with ties in data order and in random order."""
    labels = np.asarray(y, np.float64)
    labels = labels - min(float(labels.min(initial=0.0)), 0.0)  # gains must not be negative
    scores = np.zeros(len(labels))
    gain = "linear" if labels.max(initial=0.0) > _LARGEST_LABEL else "exp"
    given, drawn = (
        _METRIC.replace(ties=ties, gain=gain).prepare(labels, groups, part=True).per_query(scores)
        for ties in ("input", "average")
    )
    gaps = given - drawn
    predicts = False
    if len(gaps) > 1:
        gap, error = abs(gaps.mean()), gaps.std(ddof=1) / np.sqrt(len(gaps))
        predicts = bool(gap >= _LEAST_GAP and gap > _STANDARD_ERRORS * error)
    n_queries = max(len(gaps), 1)
    return FileOrder(float(given.sum()) / n_queries, float(drawn.sum()) / n_queries, predicts)
