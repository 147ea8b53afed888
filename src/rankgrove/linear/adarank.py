"""AdaRank: boosting of features as weak rankers; badly ranked queries get more weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankgrove.linear.line import LineMetric
from rankgrove.models.linear_features import LinearFeatures

Floats = npt.NDArray[np.float64]

# Bounds the weight of a perfect weak ranker, which would be infinite.
_LARGEST_SHARE = 1.0 - 1e-9


def query_distribution(performance: Floats, prior: Floats) -> Floats:
    """Return AdaRank's weights of the queries: exp(-performance), normalised.

    Queries that the metric leaves out (NaN) weigh nothing.
    """
    known = ~np.isnan(performance)
    weights = np.where(known, prior * np.exp(-np.where(known, performance, 0.0)), 0.0)
    total = weights.sum()
    return weights / total if total > 0 else weights


def ranker_weight(distribution: Floats, performance: Floats) -> float:
    """Return the weight of a weak ranker: half the log of sum P (1 + E) / sum P (1 - E)."""
    mean = float(distribution @ np.nan_to_num(performance))
    mean = float(np.clip(mean, -_LARGEST_SHARE, _LARGEST_SHARE))
    return 0.5 * float(np.log((1.0 + mean) / (1.0 - mean)))


@dataclass
class FeatureBoosting:
    """Adds one feature in each round.

    Attributes
    ----------
    features : of the training data
    metric : what is raised; its values lie in [-1, 1]
    prior : weight of each query
    allowed : features that may be chosen
    max_repeats : rounds in a row that may choose the same feature
    performance : metric of each feature alone (rows), by query (columns)
    """

    features: LinearFeatures
    metric: LineMetric
    prior: Floats
    allowed: npt.NDArray[np.bool_]
    max_repeats: int

    def __post_init__(self) -> None:
        nothing = np.zeros(int(self.metric.groups.n_rows))
        self.performance = np.vstack(
            [
                self.metric.query_values(nothing, self.features.column(feature), np.ones(1))
                for feature in range(self.features.n_features)
            ]
        )
        largest = float(np.nanmax(np.abs(self.performance), initial=0.0))
        if largest > 1.0:
            raise ValueError(
                f"parameter metric of AdaRank must lie between -1 and 1, and {self.metric.metric} "
                f"of a feature is {largest:g} in a query"
            )

    def rounds(self) -> Iterator[Floats]:
        """Yield the weights of the features after each round."""
        weights = np.zeros(self.features.n_features)
        scores = np.zeros(self.metric.groups.n_rows)
        distribution = query_distribution(0.0 * self.performance[0], self.prior)
        known = np.nan_to_num(self.performance)
        allowed = self.allowed.copy()
        last, repeats = -1, 0
        while allowed.any():
            means = np.where(allowed, known @ distribution, -np.inf)
            feature = int(means.argmax())
            repeats = repeats + 1 if feature == last else 1
            if repeats > self.max_repeats:
                allowed[feature] = False
                continue
            last = feature
            alpha = ranker_weight(distribution, self.performance[feature])
            weights[feature] += alpha
            scores += alpha * self.features.column(feature)
            yield weights.copy()
            reached = self.metric.query_values(scores, scores, np.zeros(1))[0]
            distribution = query_distribution(reached, self.prior)
