"""Gains of pointwise splits of many documents: what forest.py does by brute force, in arrays."""

from __future__ import annotations

import numpy as np


class NodeScan:
    """The documents of a node. A gain is the fall of its impurity (``forest.pointwise_gain``)."""

    def __init__(self, y, weight, criterion):
        w = np.ones(len(y)) if weight is None else weight
        self.criterion = criterion
        self.mass = w.sum()
        if criterion == "squared_error":
            self.sums = np.c_[w, w * (y - np.average(y, weights=w))]
        else:
            self.sums = w[:, None] * (y[:, None] == np.unique(y))
        self.total = self.sums.sum(0)

    def gain(self, goes_left):
        """Gain of the split that sends these documents (a mask) left."""
        return float(self._gains(self.sums[goes_left].sum(0)[None])[0])

    def best_gain(self, X, min_leaf=1):
        """Largest gain of all thresholds of all features, missing values (nan) on either side."""
        return max(self._best_of_feature(x, min_leaf) for x in X.T)

    def _best_of_feature(self, x, min_leaf):
        order = np.argsort(x, kind="stable")  # nan last
        n_missing = int(np.isnan(x).sum())
        known = x[order[: len(x) - n_missing]]
        n_left = 1 + np.flatnonzero(np.r_[known[1:] != known[:-1], np.full(min(1, len(known)), 1)])
        left = np.cumsum(self.sums[order], axis=0)[n_left - 1]
        if n_missing:
            left = np.r_[left, left + self.sums[np.isnan(x)].sum(0)]
            n_left = np.r_[n_left, n_left + n_missing]
        legal = np.minimum(n_left, len(x) - n_left) >= min_leaf
        return self._gains(left[legal]).max(initial=0.0)

    def _gains(self, left):
        scores = self._score(left) + self._score(self.total - left)
        return (scores - self._score(self.total[None])) / self.mass

    def _score(self, sums):
        """-weight * impurity, but for terms that the parts of a node add up to."""
        if self.criterion == "squared_error":
            return sums[:, 1] ** 2 / sums[:, 0]
        if self.criterion == "gini":
            return (sums**2).sum(1) / sums.sum(1)
        return _x_log2_x(sums).sum(1) - _x_log2_x(sums.sum(1))


def _x_log2_x(x):
    return x * np.log2(np.where(x > 0, x, 1.0))
