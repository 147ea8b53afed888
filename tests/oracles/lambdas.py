"""LambdaMART by definition: swap every pair, evaluate the metric anew, O(n^2) metrics per query."""

import numpy as np


def dcg(values, k):
    ranks = np.arange(1, len(values) + 1)
    return float(np.sum(np.where(ranks <= k, values / np.log2(ranks + 1), 0.0)))


def ndcg(gains, k, ideal_k=None):
    ideal = dcg(np.sort(gains)[::-1], ideal_k or k)
    return dcg(gains, k) / ideal if ideal > 0 else 0.0


def average_precision(relevant, k):
    hits = np.flatnonzero(relevant)
    return (
        float(np.mean([(k + 1) / (rank + 1) for k, rank in enumerate(hits)])) if len(hits) else 0.0
    )


def expected_reciprocal_rank(satisfaction, k):
    total, reached = 0.0, 1.0
    for rank, probability in enumerate(satisfaction[:k]):
        total += reached * probability / (rank + 1)
        reached *= 1.0 - probability
    return total


def reciprocal_rank(relevant, k):
    hits = np.flatnonzero(relevant[:k])
    return 1.0 / (hits[0] + 1) if len(hits) else 0.0


def lambdas_of_query(
    scores,
    value,
    metric,
    k=10**9,
    truncation=10**9,
    sigma=1.0,
    query_norm=False,
    difference_norm=False,
):
    """Return gradients and Hessians of one query; ``value`` is what the metric reads."""
    scores, value = np.asarray(scores, float), np.asarray(value, float)
    order = np.argsort(-scores, kind="stable")
    now = metric(value[order], k)
    gradient, hessian, lambda_sum = np.zeros(len(scores)), np.zeros(len(scores)), 0.0
    for a in range(len(order)):
        for b in range(a + 1, len(order)):
            if a >= truncation or value[order[a]] == value[order[b]]:
                continue
            swapped = order.copy()
            swapped[[a, b]] = swapped[[b, a]]
            delta = abs(now - metric(value[swapped], k))
            better, worse = order[a], order[b]
            if value[better] < value[worse]:
                better, worse = worse, better
            difference = scores[better] - scores[worse]
            if difference_norm and scores.max() != scores.min():
                delta /= 0.01 + abs(difference)
            rho = 1.0 / (1.0 + np.exp(np.clip(sigma * difference, -700, 700)))
            gradient[better] -= sigma * delta * rho
            gradient[worse] += sigma * delta * rho
            hessian[[better, worse]] += sigma**2 * delta * rho * (1.0 - rho)
            lambda_sum += 2.0 * sigma * delta * rho
    if query_norm and lambda_sum > 0:
        factor = np.log2(1.0 + lambda_sum) / lambda_sum
        return gradient * factor, hessian * factor
    return gradient, hessian
