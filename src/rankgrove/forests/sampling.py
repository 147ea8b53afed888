"""Samples of documents for each tree of a forest, and of features for each node."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import _native
from rankgrove.data.core.ranking_input import RankingInput

Floats = npt.NDArray[np.float64]

MAX_SAMPLE = 2**31 - 1

# Of whole queries and of documents, without and with replacement (RF paper, section 4.1.2).
SAMPLINGS = ("queries", "documents", "bootstrap", "bootstrap-queries")


@dataclass(frozen=True)
class TreeSample:
    """The sample of a tree.

    Attributes
    ----------
    sampling : what is drawn and how, one of SAMPLINGS
    size : how many are drawn
    weights : chance of each query or document, in grouped order; None: all the same
    """

    sampling: str
    size: int
    weights: Floats | None = None

    @classmethod
    def of(
        cls, data: RankingInput, subsample: float, sampling: str, weights: Floats | None = None
    ) -> TreeSample:
        """Build a sample from the parameters of a forest; ``weights`` are those of documents."""
        n_units = data.groups.n_rows
        if sampling in ("queries", "bootstrap-queries"):
            offsets = data.filled_offsets
            n_units = len(offsets) - 1
            if weights is not None:
                weights = np.add.reduceat(weights, offsets[:-1]) / np.diff(offsets)
        if sampling in ("bootstrap", "bootstrap-queries"):
            return cls(sampling, _share(subsample, n_units), weights)
        if weights is not None:
            n_units = int((weights > 0).sum())
        return cls(sampling, min(_share(subsample, n_units), n_units), weights)

    def native(self) -> _native.ForestSample:
        """Return the sampling options of the native grower."""
        return _native.ForestSample(self.sampling, self.size, self.weights)


def _share(subsample: float, n_units: int) -> int:
    """Convert a share (up to 1) or a number (above 1) of units to a number, at least 1."""
    if subsample <= 1:
        return max(1, round(float(subsample) * n_units))
    return int(subsample)


def n_candidates(max_features: Any, n_features: int) -> int:
    """Return the number of features that a node tries."""
    if max_features is None or max_features == "all":
        return n_features
    if max_features == "log2":
        return int(math.log2(n_features)) + 1
    if max_features == "sqrt":
        return max(1, math.isqrt(n_features))
    if isinstance(max_features, float | np.floating):
        return max(1, round(float(max_features) * n_features))
    return min(int(max_features), n_features)
