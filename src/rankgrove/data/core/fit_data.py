"""Training data as a caller gives them to a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class FitData:
    """The training data as the caller gave them to ``fit``; ``RankingInput`` are the checked ones.

    Attributes
    ----------
    X : matrix, data frame, Dataset or scan
    y, qid, group_sizes, sample_weight, position, propensity : as for ``fit``; a Dataset brings its
        own
    """

    X: Any
    y: Any = None
    qid: Any = None
    group_sizes: Any = None
    sample_weight: Any = None
    position: Any = None
    propensity: Any = None
