"""Base class of objectives over pairs of documents that are weighted by changes of a metric."""

from __future__ import annotations

import warnings

import numpy as np

from rankgrove import _native
from rankgrove.boosting.objectives.base import Floats, Floats32, Objective, TrainingData

_LONG_LIST = 20_000  # all pairs of a query of this many documents take about a second per iteration


class MetricPairs(Objective):
    """Gradients of weighted pairs of documents; see ``native/objectives/lambda.hpp``.

    Attributes
    ----------
    data : the training data
    options : metric, cut-off, truncation and norms
    value : what the metric reads of each document
    """

    data: TrainingData
    options: _native.LambdaOptions
    value: Floats32

    def gradients(
        self, scores: Floats, gradients: Floats32, hessians: Floats32 | None, iteration: int
    ) -> None:
        """Fill gradients and Hessians."""
        self.fill(scores, gradients, hessians, iteration)

    def fill(
        self,
        scores: Floats,
        gradients: Floats32,
        hessians: Floats32 | None,
        iteration: int,
        **factors: Floats,
    ) -> None:
        """Fill gradients and Hessians of pairs with these factors, and add the pairs' costs."""
        assert hessians is not None
        _native.lambda_gradients(
            self.data.offsets,
            scores[0],
            self.value,
            self.data.weight,
            self.options,
            self.data.seed,
            iteration,
            self.data.shard.first_query,
            self.data.n_threads,
            gradients[0],
            hessians[0],
            **factors,
        )


def warn_of_many_pairs(data: TrainingData) -> None:
    """Warn of a query so long that all of its pairs take seconds."""
    longest = int(np.diff(data.offsets).max(initial=0))
    if longest > _LONG_LIST:
        warnings.warn(
            f"truncation=None looks at all pairs of documents in each iteration, and a query has "
            f"{longest} documents: {longest * (longest - 1) // 2} pairs; a truncation such as 30 "
            "makes the work linear",
            stacklevel=2,
        )
