"""Splits of forest trees by brute force: every candidate's gain is computed from scratch.

A tree is a list of leaves; a leaf is a list of rows. Listwise gains follow Ibrahim and Carman 2016,
equations 11-13, literally: the mean over all queries of the expected NDCG, before and after.
"""

from __future__ import annotations

import functools
import itertools
import math


@functools.cache
def mean_over_orders(blocks, value):
    """Mean of value(labels) over all orders of the labels inside each block."""
    orders = [
        [p for b in o for p in b] for o in itertools.product(*map(itertools.permutations, blocks))
    ]
    return sum(value(order) for order in orders) / len(orders)


def expected_by_orders(labels, scores, value):
    """Mean of value(labels in ranked order) over all orders of documents with equal scores."""
    distinct = sorted(set(scores), reverse=True)
    blocks = [sorted(c for c, s in zip(labels, scores, strict=True) if s == x) for x in distinct]
    return mean_over_orders(tuple(map(tuple, blocks)), value)


def expected_metric(labels, scores, gain=None, discount=None, normalize=True, value=None):
    """Equations 11-13 for one query: labels and scores of its documents."""
    if value is not None:
        return expected_by_orders(labels, scores, value)
    order = sorted(range(len(labels)), key=lambda i: -scores[i])
    total = 0.0
    for rank in range(len(order)):
        ties = [r for r in range(len(order)) if scores[order[r]] == scores[order[rank]]]
        lowest, highest = min(ties), max(ties)
        expected_gain = sum(gain(labels[order[j]]) for j in range(lowest, highest + 1)) / (
            highest - lowest + 1
        )
        total += expected_gain * discount(rank + 1)
    if not normalize:
        return total
    ideal = sum(
        gain(label) * discount(r + 1) for r, label in enumerate(sorted(labels, reverse=True))
    )
    return total / ideal if ideal > 0 else 0.0


def mean_score(leaf, y, weight=None):
    if weight is None:
        return sum(y[i] for i in leaf) / len(leaf)
    return sum(weight[i] * y[i] for i in leaf) / sum(weight[i] for i in leaf)


def mean_metric(leaves, y, queries, metric, weight=None):
    """Mean over all queries with documents; ``queries`` lists the rows of each."""
    score = {i: mean_score(leaf, y, weight) for leaf in leaves for i in leaf}
    values = [
        expected_metric([y[i] for i in rows], [score[i] for i in rows], **metric)
        for rows in queries
        if rows
    ]
    importance = [
        1.0 if weight is None else sum(weight[i] for i in rows) / len(rows)
        for rows in queries
        if rows
    ]
    return sum(v * w for v, w in zip(values, importance, strict=True)) / sum(importance)


def impurity(rows, y, weight, criterion):
    w = {i: 1.0 if weight is None else weight[i] for i in rows}
    total = sum(w.values())
    if criterion == "squared_error":
        mean = sum(w[i] * y[i] for i in rows) / total
        return sum(w[i] * (y[i] - mean) ** 2 for i in rows) / total
    shares = [sum(w[i] for i in rows if y[i] == c) / total for c in {y[i] for i in rows}]
    if criterion == "gini":
        return sum(p * (1 - p) for p in shares)
    return -sum(p * math.log2(p) for p in shares if p > 0)


def pointwise_gain(left, right, y, weight, criterion):
    """Fall of the impurity, times the node's share of the sample's weight is left to the caller."""
    rows = left + right

    def mass(part):
        return sum(1.0 if weight is None else weight[i] for i in part)

    before = impurity(rows, y, weight, criterion)
    after = sum(
        mass(part) / mass(rows) * impurity(part, y, weight, criterion) for part in (left, right)
    )
    return before - after


def partitions(rows, X):
    """All ways to split rows by a threshold on a feature; missing values (nan) on either side."""
    for feature in range(X.shape[1]):
        values = sorted({X[i, feature] for i in rows if not math.isnan(X[i, feature])})
        missing = [i for i in rows if math.isnan(X[i, feature])]
        for k in range(len(values)):
            low = [i for i in rows if X[i, feature] <= values[k]]
            high = [i for i in rows if X[i, feature] > values[k]]
            sides = [(low, high + missing)]
            if missing and high:
                sides.append((low + missing, high))
            for left, right in sides:
                if left and right:
                    yield left, right
