"""Corrections of position bias by definition, pair by pair and document by document."""

import itertools

import numpy as np
from tests.oracles.lambdas import ndcg


def pairs_of_query(scores, clicks, sigma, truncation):
    """Yield (better, worse, |delta NDCG|) of all pairs of a query."""
    order = np.argsort(-scores, kind="stable")
    now = ndcg(clicks[order], 10**9, truncation)
    for a in range(len(order)):
        for b in range(a + 1, len(order)):
            if a >= truncation or clicks[order[a]] == clicks[order[b]]:
                continue
            swapped = order.copy()
            swapped[[a, b]] = swapped[[b, a]]
            delta = abs(now - ndcg(clicks[swapped], 10**9, truncation))
            better, worse = order[a], order[b]
            if clicks[better] < clicks[worse]:
                better, worse = worse, better
            yield better, worse, delta


def weighted_lambdas(offsets, scores, clicks, better_factor, worse_factor, sigma, truncation):
    """Return gradients, Hessians, and the costs of documents as better and as worse ones."""
    n = len(scores)
    gradient, hessian, better_cost, worse_cost = (np.zeros(n) for _ in range(4))
    for first, end in itertools.pairwise(offsets):
        part = slice(first, end)
        for i, j, delta in pairs_of_query(scores[part], clicks[part], sigma, truncation):
            i, j = first + i, first + j
            difference = sigma * (scores[i] - scores[j])
            cost = delta * np.log1p(np.exp(-difference))
            better_cost[i] += cost * worse_factor[j]
            worse_cost[j] += cost * better_factor[i]
            weight = delta * better_factor[i] * worse_factor[j]
            rho = 1 / (1 + np.exp(difference))
            gradient[i] -= sigma * weight * rho
            gradient[j] += sigma * weight * rho
            hessian[[i, j]] += sigma**2 * weight * rho * (1 - rho)
    return gradient, hessian, better_cost, worse_cost


def ratios(position, costs, power):
    """Return {position: (cost there / cost at the first position) ** power}."""
    sums = {k: sum(costs[position == k]) for k in sorted(set(position))}
    first = sums[min(sums)]
    return {k: (total / first) ** power for k, total in sums.items()}


def bias_step(position, bias, gradient, hessian, reg, learning_rate):
    """Return the additive biases after one Newton step, as LightGBM takes it."""
    new = {}
    for k in sorted(set(position)):
        there = position == k
        slope = -gradient[there].sum() - bias[k] * reg * there.sum()
        curvature = -hessian[there].sum() - reg * there.sum()
        new[k] = bias[k] + learning_rate * slope / (abs(curvature) + 0.001)
    return new
